"""One registered agent: its record and the identity from its manifest. Pure."""

from dataclasses import dataclass
from functools import cached_property

from posthouse.contracts import identity, names
from posthouse.contracts.managed_agents_http import Identity
from posthouse.contracts.manifest import HEADLESS
from posthouse.contracts.registry import Record
from posthouse.terminal.client import Server

#: Backends whose agent runs in the tmux window `AGENT_WINDOW`.
_IN_AGENT_WINDOW = HEADLESS | {"local_interactive"}


@dataclass(frozen=True, kw_only=True)
class Member:
    """A registered agent, live or not."""

    record: Record
    #: The session id in the manifest; None when the manifest is unreadable.
    session_id: str | None
    #: The tmux server of its session; None when the manifest is unreadable.
    server: Server | None
    #: Why the manifest is unreadable.
    problem: str | None = None
    #: Its id on the server that launched it.
    managed_ref: str | None = None

    @property
    def tracked_agent_id(self) -> str:
        return self.managed_ref or self.record.agent_id

    @property
    def is_headless(self) -> bool:
        return self.record.identity.backend in HEADLESS

    @property
    def tmux_session_name(self) -> str:
        terminal = self.record.terminal
        return terminal.current_session_name or terminal.last_session_name

    @property
    def is_expected_to_run(self) -> bool:
        """Whether its record states that it runs; only tmux shows whether it does."""
        return self.record.terminal.current_session_name is not None

    @cached_property
    def aliases(self) -> frozenset[str]:
        """All ids and names that resolve to it; names in their canonical form too."""
        record = self.record
        words = {
            self.tracked_agent_id,
            record.agent_id,
            record.agent_name,
            identity.canonical(record.agent_name),
        }
        if self.session_id is not None:
            words.add(self.session_id)
        if not self.is_headless:
            words.add(self.tmux_session_name)
        return frozenset(words)

    @cached_property
    def identity(self) -> Identity:
        record = self.record
        return Identity(
            tracked_agent_id=self.tracked_agent_id,
            transport="headless" if self.is_headless else "tui",
            tool=record.identity.tool,
            session_name=None if self.is_headless else self.tmux_session_name,
            terminal_id=None if self.is_headless else self.session_id,
            runtime_session_id=self.session_id,
            tmux_session_name=self.tmux_session_name,
            tmux_window_name=names.AGENT_WINDOW if record.identity.backend in _IN_AGENT_WINDOW else None,
            manifest_path=record.runtime.manifest_path,
            session_root=record.runtime.session_root,
            agent_name=record.agent_name,
            agent_id=record.agent_id,
            lifecycle_state=record.lifecycle.state,
            management_kind="local_lifecycle",
            lifecycle_owner="local",
            external_agent_id=None,
            remote_pair_api_base_url=None,
            remote_agent_ref=None,
        )

    @cached_property
    def encoded(self) -> bytes:
        """The identity as JSON, cached because agent lists are requested often."""
        return self.identity.model_dump_json().encode()
