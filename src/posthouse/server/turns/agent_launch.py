"""Launches headless agents that this server owns: their gateways ask here for every turn."""

import asyncio
from pathlib import Path

from posthouse import tools
from posthouse.contracts import identity
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.manifest import HEADLESS
from posthouse.errors import Conflict, Unavailable
from posthouse.server.member import Member
from posthouse.server.records import member_of
from posthouse.server.turns.authority import authority_of
from posthouse.server.turns.store import Store
from posthouse.sessions.agents import AgentExists, Agents
from posthouse.sessions.launch import BadLaunch, LaunchSpec
from posthouse.sessions.launch_files import ManagedBy
from posthouse.sessions.registry import RecordTaken
from posthouse.sessions.session import Session
from posthouse.support import ids

_STALWART = "stalwart_"


class NotPublished(Unavailable):
    """The agent could not be made known; what was made of it was taken down again."""

    code = "agent_not_published"


class NameInUse(Conflict):
    """A live agent has that name; nothing was made."""

    code = "name_in_use"


class Launches:
    """Starts headless agents and writes down that they are this server's."""

    def __init__(self, agents: Agents, store: Store, api_base_url: str) -> None:
        self._agents = agents
        self._store = store
        # 0.0.0.0 is where it listens, not where it can be reached.
        self._api_base_url = api_base_url.replace("//0.0.0.0:", "//127.0.0.1:")

    async def launch(self, order: wire.HeadlessLaunch) -> Member:
        """A headless agent that waits for its first turn; it is published and on disk.

        Raises:
            InvalidInput: A folder, a file, the tool or the mailbox is not what it must be; nothing is left.
            NameInUse: Another agent of that name runs.
            Unavailable: tmux, the disk or the registry failed; what was made was taken down again.
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
            raise NameInUse(str(error)) from error
        except RecordTaken as error:
            raise NotPublished(str(error)) from error
        except Conflict as error:
            raise BadLaunch(str(error)) from error
        except OSError as error:
            raise NotPublished(f"the agent's files can't be written: {error}") from error
        try:
            self._store.write_authority(authority_of(tracked_id, made))
        except OSError as error:
            self._take_down(made)
            raise NotPublished(f"the server can't keep the agent: {error}") from error
        return self._published(made)

    def _require_free(self, order: wire.HeadlessLaunch) -> None:
        """Names are shared only by those who give their agents ids of their own."""
        if order.agent_name is None or order.agent_id is not None:
            return
        for there in self._agents.registered():
            if identity.same_agent(there.name, order.agent_name):
                raise NameInUse(f"agent {there.name!r} runs already, as {there.agent_id}: give an agent_id")

    def _take_down(self, made: Session) -> None:
        self._agents.stop(self._agents.find(agent_id=made.agent_id), reason="its launch failed")
        generation = made.manifest.registry_generation_id
        if generation is not None:
            self._agents.registry.remove(made.agent_id, generation)

    def _published(self, made: Session) -> Member:
        record = self._agents.registry.entry(made.agent_id).record
        if record is None:
            raise NotPublished(f"agent {made.agent_name!r} is gone again")
        return member_of(record, made)


def _spec(order: wire.HeadlessLaunch, managed_by: ManagedBy) -> LaunchSpec:
    if tools.load(order.tool).headless_backend not in HEADLESS:
        raise BadLaunch(f"tool {order.tool!r} has no headless backend")
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


def _mailbox(wish: wire.LaunchMailbox | None) -> dict[str, str] | None:
    """What was declared, in the words of a brain manifest."""
    if wish is None:
        return None
    given = wish.model_dump(exclude_none=True)
    return {name.removeprefix(_STALWART): value for name, value in given.items()}


def _folder(text: str, field: str) -> Path:
    path = _absolute(text, field)
    if not path.is_dir():
        raise BadLaunch(f"{field} {path} is not a folder")
    return path


def _absolute(text: str, field: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise BadLaunch(f"{field} {text!r} is not absolute")
    return path
