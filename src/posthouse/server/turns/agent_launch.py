"""Launches headless agents that this server owns: their gateways submit every turn to it."""

import asyncio
from pathlib import Path

from posthouse import tools
from posthouse.contracts import identity
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.manifest import HEADLESS
from posthouse.errors import Conflict, InvalidInput, Unavailable
from posthouse.server.member import Member
from posthouse.server.records import member_of
from posthouse.server.turns.authority import authority_of
from posthouse.server.turns.store import TurnStore
from posthouse.sessions.agents import AgentExists, Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.launch_files import ManagedBy
from posthouse.sessions.registry import RecordTaken
from posthouse.sessions.session import Session
from posthouse.support import ids

_STALWART = "stalwart_"
_NAME_IN_USE = "name_in_use"


class AgentLauncher:
    """Starts headless agents and records that this server owns them."""

    def __init__(self, agents: Agents, store: TurnStore, api_base_url: str) -> None:
        self._agents = agents
        self._store = store
        # 0.0.0.0 is a bind address, not a destination.
        self._api_base_url = api_base_url.replace("//0.0.0.0:", "//127.0.0.1:")

    async def launch(self, order: wire.HeadlessLaunch) -> Member:
        """Launch a headless agent that waits for its first turn; it is published and on disk.

        Raises:
            InvalidInput: A folder, a file, the tool or the mailbox is invalid; nothing is left behind.
            Conflict: Another agent of that name runs.
            Unavailable: tmux, the disk or the registry failed; the launch was rolled back.
        """
        return await asyncio.to_thread(self._launch, order)

    def _launch(self, order: wire.HeadlessLaunch) -> Member:
        tracked_id = ids.hex_id(12)
        self._require_free(order)
        try:
            made = self._agents.launch(
                _spec(order, ManagedBy(api_base_url=self._api_base_url, agent_ref=tracked_id))
            )
        except AgentExists as error:
            raise Conflict(str(error), code=_NAME_IN_USE) from error
        except RecordTaken as error:
            raise _not_published(str(error)) from error
        except Conflict as error:
            raise _bad_launch(str(error)) from error
        except OSError as error:
            raise _not_published(f"the agent's files can't be written: {error}") from error
        try:
            self._store.write_authority(authority_of(tracked_id, made))
        except OSError as error:
            self._take_down(made)
            raise _not_published(f"the server can't record the agent: {error}") from error
        return self._published(made)

    def _require_free(self, order: wire.HeadlessLaunch) -> None:
        """Reject a name in use; with an explicit agent_id, names may repeat."""
        if order.agent_name is None or order.agent_id is not None:
            return
        for there in self._agents.registered():
            if identity.same_agent(there.name, order.agent_name):
                raise Conflict(
                    f"agent {there.name!r} already runs as {there.agent_id}: give an agent_id",
                    code=_NAME_IN_USE,
                )

    def _take_down(self, made: Session) -> None:
        self._agents.stop(self._agents.find(agent_id=made.agent_id), reason="its launch failed")
        generation = made.manifest.registry_generation_id
        if generation is not None:
            self._agents.registry.remove(made.agent_id, generation)

    def _published(self, made: Session) -> Member:
        record = self._agents.registry.entry(made.agent_id).record
        if record is None:
            raise _not_published(f"agent {made.agent_name!r} was removed during its launch")
        return member_of(record, made)


def _not_published(message: str) -> Unavailable:
    return Unavailable(message, code="agent_not_published")


def _spec(order: wire.HeadlessLaunch, managed_by: ManagedBy) -> LaunchSpec:
    if tools.load(order.tool).headless_backend not in HEADLESS:
        raise _bad_launch(f"tool {order.tool!r} has no headless backend")
    return LaunchSpec(
        tool=order.tool,
        name=order.agent_name,
        agent_id=order.agent_id or managed_by.agent_ref,
        headless=True,
        working_directory=_folder(order.working_directory, "working_directory"),
        agent_def_dir=_folder(order.agent_def_dir, "agent_def_dir"),
        brain_manifest=_absolute(order.brain_manifest_path, "brain_manifest_path"),
        role_name=order.role_name,
        style=order.headless_display_style or "plain",
        detail=order.headless_display_detail or "concise",
        mailbox=_mailbox(order.mailbox),
        managed_by=managed_by,
    )


def _mailbox(declared: wire.LaunchMailbox | None) -> dict[str, str] | None:
    """The declared mailbox with the field names of a brain manifest."""
    if declared is None:
        return None
    given = declared.model_dump(exclude_none=True)
    return {name.removeprefix(_STALWART): value for name, value in given.items()}


def _folder(text: str, field: str) -> Path:
    path = _absolute(text, field)
    if not path.is_dir():
        raise _bad_launch(f"{field} {path} is not a folder")
    return path


def _absolute(text: str, field: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise _bad_launch(f"{field} {text!r} is not absolute")
    return path


def _bad_launch(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_launch")
