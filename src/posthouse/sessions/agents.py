"""Operations on agents: launch, find, list, stop, relaunch.

Each operation holds the agent's registry lock, so concurrent commands are serialized. The calling
process attaches and detaches gateways.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Literal, Protocol

from msgspec import structs

from posthouse import tools
from posthouse.contracts import identity
from posthouse.contracts.manifest import LEGACY
from posthouse.contracts.registry import Lifecycle, Record, Terminal
from posthouse.errors import Conflict, InvalidInput, NotFound, PosthouseError, Unavailable
from posthouse.sessions import conversation as chats
from posthouse.sessions import launch, liveness, mail_skills, publication, session, start
from posthouse.sessions.conversation import StartMode
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.liveness import Agent
from posthouse.sessions.registry import Registry, lease
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.sessions.termination import close_terminal
from posthouse.support import clock, crashpoints, ids
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Placement, Server, Tmux
from posthouse.tools.tool import Chat


class AgentNotFound(NotFound):
    """No agent of that name or id."""

    code = "agent_not_found"

    def __init__(self, wanted: str, known: list[str]) -> None:
        existing = f"; there is {', '.join(sorted(known))}" if known else "; there is none yet"
        super().__init__(f"no agent {wanted!r}{existing}")
        self.wanted = wanted
        self.known = known


class AmbiguousName(Conflict):
    """Several agents have that name; nothing was changed."""

    code = "ambiguous_name"

    def __init__(self, name: str, candidates: list[Agent]) -> None:
        super().__init__(f"{len(candidates)} agents are called {name!r}")
        self.name = name
        self.candidates = candidates


class AgentExists(Conflict):
    """The name is in use; nothing was changed."""

    code = "agent_exists"

    def __init__(self, existing: Agent) -> None:
        super().__init__(
            f"agent {existing.name!r} exists ({existing.record.identity.tool}, {existing.health}, "
            f"id {existing.agent_id}): relaunch it, or launch with --replace"
        )
        self.existing = existing


class LegacyBackend(InvalidInput):
    """The session's backend is recognised but not supported."""

    code = "legacy_backend"

    def __init__(self, backend: str) -> None:
        super().__init__(f"backend {backend} is only shown, never driven: start a new session")


class SessionHooks(Protocol):
    """Operations on the gateway, turn and mailbox of a session.

    Ending is a no-op when nothing runs.
    """

    def open_mailbox(self, made: Session) -> None:
        """Create the mailbox that the manifest names. A no-op when it names none, or the mailbox exists.

        Raises:
            PosthouseError: The mailbox can't be created.
        """

    def end_turn(self, found: Session) -> None:
        """Kill the headless turn that runs in the session."""

    def detach_gateway(self, found: Session) -> None:
        """End the session's gateway."""


class Agents:
    """All agents of one registry, as seen from one set of roots and one tmux server."""

    def __init__(
        self, roots: Roots, registry: Registry, placement: Server | Placement, hooks: SessionHooks
    ) -> None:
        self.roots = roots
        self.registry = registry
        self._placement = Placement(placement) if isinstance(placement, Server) else placement
        self.server = self._placement.shared
        self._hooks = hooks

    def launch(
        self,
        spec: LaunchSpec,
        *,
        replace_existing: bool = False,
        warn: Callable[[str], None] = lambda text: None,
    ) -> Session:
        """Start a new agent. The caller attaches its gateway.

        *warn* receives warnings for the user.

        Raises:
            AgentExists: The name or id is in use and *replace_existing* is false.
            And the errors of `launch.prepare` and `launch.execute`.
        """
        server = self._placement.server_for(ids.hex_id(12))
        prepared = launch.prepare(spec, self.roots, server, clock.now())
        for warning in prepared.warnings:
            warn(warning)
        with self.registry.locked(prepared.plan.agent_id):
            for there in self._conflicting(prepared.plan.agent_name, prepared.plan.agent_id, spec):
                if not replace_existing:
                    raise AgentExists(there)
                with self._also_locked(there.agent_id, prepared.plan.agent_id):
                    self._end(there, reason="replaced")
                    self.registry.remove(there.agent_id, there.record.generation_id)
            return launch.execute(
                prepared,
                self.roots,
                self.registry,
                server,
                open_mailbox=self._hooks.open_mailbox,
                warn=warn,
            )

    def registered(self, states: frozenset[str] | None = liveness.RUNNING) -> list[Agent]:
        """Every agent whose record is in one of *states* (None: all), by name."""
        return liveness.registered(self.registry, states)

    def find(self, *, name: str | None = None, agent_id: str | None = None) -> Agent:
        """The one agent with that id or name (`gpu` and `HOUMAO-gpu` are equal).

        A live agent takes precedence over stopped ones of the same name.

        Raises:
            AgentNotFound, AmbiguousName: No agent matches, or several do.
        """
        records = self.registry.records()
        if agent_id is not None:
            matches = [record for record in records if record.agent_id == agent_id]
        else:
            matches = [record for record in records if identity.same_agent(record.agent_name, name or "")]
        active = [record for record in matches if record.lifecycle.state in liveness.RUNNING]
        found = liveness.probe(active or matches)
        if not found:
            raise AgentNotFound(name or agent_id or "", [record.agent_name for record in records])
        if len(found) > 1:
            raise AmbiguousName(name or "", found)
        return liveness.probe_pane(found[0])

    def stop(self, agent: Agent, *, reason: str = "stopped by user") -> None:
        """End the agent and its processes. Its record stays, relaunchable. A second call changes nothing.

        Raises:
            LegacyBackend: Its backend is not supported; nothing was changed.
            Unavailable: Its tmux server does not answer and nothing was changed, or a process did not end
                and the record stays active.
        """
        refuse_legacy(agent)
        with self.registry.locked(agent.agent_id):
            self._end(agent, reason=reason)

    def relaunch(
        self,
        agent: Agent,
        mode: StartMode | None = "new",
        chat_id: str | None = None,
        *,
        warn: Callable[[str], None] = lambda text: None,
    ) -> Session:
        """Start the agent again from its manifest, in the same session and home.

        A live agent is ended first. For a headless agent *mode* selects the next turn's chat; None
        continues the current one.

        Raises:
            Conflict: Its manifest is unusable, or it was joined and has no start command.
            Unavailable, InvalidInput: Its CLI or its working directory is missing; nothing was changed.
            Unavailable: Its tmux server does not answer and nothing was changed, or its program does not
                run after the start and the agent is stopped.
        """
        refuse_legacy(agent)
        require_reachable(agent)
        found = agent.session
        if found is None:
            raise Conflict(f"agent {agent.name!r} can't be relaunched: {agent.detail}")
        authority = found.manifest.agent_launch_authority
        if authority is not None and authority.posture_kind == "unavailable":
            raise Conflict(f"agent {agent.name!r} was joined: start it again yourself, then join it again")
        chat = chats.start_chat(mode, chat_id)
        with self.registry.locked(agent.agent_id):
            _require_startable(found, chat)
            self._hooks.end_turn(found)
            close_terminal(found.tmux, found.tmux_session_name)
            self._publish_state(agent.record, "relaunching")
            crashpoints.reach("relaunching")
            try:
                if mode is not None:
                    found = session.update(found, lambda manifest: chats.restarted(manifest, mode, chat_id))
                started = self._start_again(found, chat, warn)
            except BaseException as error:
                self._abort_relaunch(agent.record, found, error)
                raise
            self._publish_state(agent.record, "active")
            return started

    def _start_again(self, found: Session, chat: Chat, warn: Callable[[str], None]) -> Session:
        publication.seed(found)
        for text in mail_skills.install(found):
            warn(text)
        started = start.start_agent(found, chat, self.roots)
        _require_running(started)
        return started

    def _abort_relaunch(self, record: Record, found: Session, error: BaseException) -> None:
        """Mark the agent stopped after a failed relaunch. *error* is what the caller raises."""
        # If tmux or the disk is what failed, the record stays "relaunching", and `stop` ends what is left.
        with suppress(PosthouseError, OSError):
            close_terminal(found.tmux, found.tmux_session_name)
            terminal.remove_server_socket(found.tmux)
            self._publish_stopped(record, reason=f"relaunch failed: {str(error) or type(error).__name__}")

    def relaunch_lost(self) -> list[Session | PosthouseError]:
        """Relaunch every agent that was active when its tmux session disappeared (a reboot)."""
        results: list[Session | PosthouseError] = []
        for agent in self.registered():
            if agent.health == "stale_missing_session":
                try:
                    results.append(self.relaunch(agent, None))
                except PosthouseError as error:
                    results.append(error)
        return results

    def mark_stopped(self, agent: Agent, *, reason: str) -> None:
        """Mark an agent stopped whose tmux session is gone."""
        with self.registry.locked(agent.agent_id):
            if agent.session is not None:
                terminal.remove_server_socket(agent.session.tmux)
            self._publish_stopped(agent.record, reason=reason)

    def _also_locked(self, agent_id: str, held: str) -> AbstractContextManager[None]:
        return nullcontext() if agent_id == held else self.registry.locked(agent_id)

    def _conflicting(self, name: str, agent_id: str, spec: LaunchSpec) -> list[Agent]:
        records = [
            record
            for record in self.registry.records()
            if record.agent_id == agent_id
            # An agent with an explicit id may share its name.
            or (spec.agent_id is None and identity.same_agent(record.agent_name, name))
        ]
        return liveness.probe(records)

    def _end(self, agent: Agent, *, reason: str) -> None:
        require_reachable(agent)
        if agent.session is not None:
            self._hooks.detach_gateway(agent.session)
            self._hooks.end_turn(agent.session)
            close_terminal(agent.session.tmux, agent.session.tmux_session_name)
            terminal.remove_server_socket(agent.session.tmux)
        elif agent.record.terminal.current_session_name is not None:
            # Without a manifest only the caller's own tmux server is known.
            close_terminal(Tmux(self.server), agent.record.terminal.current_session_name)
        crashpoints.reach("terminal closed")
        self._publish_stopped(agent.record, reason=reason)

    def _publish_stopped(self, record: Record, *, reason: str) -> None:
        moment = clock.iso_seconds(clock.now())

        def stopped(held: Record) -> Record:
            if held.lifecycle.state in ("stopped", "retired"):
                return held
            return structs.replace(
                held,
                lifecycle=Lifecycle(
                    state="stopped",
                    relaunchable=held.lifecycle.relaunchable,
                    state_updated_at=moment,
                    stopped_at=moment,
                    stop_reason=reason,
                ),
                terminal=Terminal(last_session_name=held.terminal.last_session_name),
                liveness=None,
                gateway=None,
            )

        self.registry.change(record.agent_id, record.generation_id, stopped)

    def _publish_state(self, record: Record, state: Literal["active", "relaunching"]) -> None:
        moment = clock.iso_seconds(clock.now())

        def changed(held: Record) -> Record:
            name = held.terminal.last_session_name
            return structs.replace(
                held,
                lifecycle=Lifecycle(state=state, relaunchable=True, state_updated_at=moment),
                terminal=Terminal(current_session_name=name, last_session_name=name),
                liveness=lease(),
            )

        self.registry.change(record.agent_id, record.generation_id, changed)


def refuse_legacy(agent: Agent) -> None:
    """Raises:
    LegacyBackend: The agent's backend is not supported.
    """
    if agent.record.identity.backend in LEGACY:
        raise LegacyBackend(agent.record.identity.backend)


def require_reachable(agent: Agent) -> None:
    """Raises:
    Unavailable: The agent's tmux server does not answer.
    """
    if agent.session is not None and agent.health == "unknown":
        raise Unavailable(f"agent {agent.name!r} can't be reached: {agent.detail}", code="agent_unreachable")


def _require_startable(found: Session, chat: Chat) -> None:
    """Raises:
    Unavailable: The agent's CLI is not installed.
    InvalidInput: Its working directory is gone.
    """
    tool = tools.load(found.manifest.tool)
    if found.manifest.is_headless:
        tool.executable()
    else:
        tool.tui_program(start.launch_of(found), chat)
    folder = Path(found.manifest.working_directory)
    if not folder.is_dir():
        raise InvalidInput(f"working directory {folder} does not exist")


def _require_running(started: Session) -> None:
    """Raises:
    Unavailable: The session is gone, or its program does not run.
    """
    name = started.tmux_session_name
    surface = terminal.pane_states(started.tmux).get(name, "missing")
    # A headless agent waits for its first turn.
    if surface != ("waiting" if started.manifest.is_headless else "running"):
        raise Unavailable(
            f"agent {started.agent_name!r} does not run: tmux session {name!r} is {surface}",
            code="agent_died",
        )
