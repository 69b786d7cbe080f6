"""The coordination server's files of each headless agent: its identity, the running turn, every turn.

`authority.json`, `active_turn.json` and `turns/<turn-id>.json` under `managed_agents/<tracked-agent-id>/`.
What a turn really did is in its artifacts under the session's root; a record is what the server knew of them.
"""

from typing import Final, Literal

import msgspec

from posthouse.contracts.manifest import Backend
from posthouse.contracts.strict import NonBlank, PositiveInt, Strict

MANAGED_AGENTS: Final = "managed_agents"
AUTHORITY: Final = "authority.json"
ACTIVE_TURN: Final = "active_turn.json"
#: Posthouse extension: the turn that a gateway accepted but has not begun.
WAITING_TURN: Final = "waiting_turn.json"
TURNS: Final = "turns"

RecordedStatus = Literal["active", "completed", "failed", "interrupted"]


class Authority(Strict, frozen=True, kw_only=True):
    """A headless agent whose turns this server owns."""

    tracked_agent_id: NonBlank
    backend: Backend
    tool: NonBlank
    manifest_path: NonBlank
    session_root: NonBlank
    tmux_session_name: NonBlank
    tmux_window_id: str | None = None
    tmux_pane_id: str | None = None
    agent_def_dir: NonBlank
    agent_name: str | None = None
    agent_id: str | None = None
    created_at_utc: NonBlank
    updated_at_utc: NonBlank


class _Running(Strict, frozen=True, kw_only=True):
    tracked_agent_id: NonBlank
    turn_id: NonBlank
    turn_index: PositiveInt
    turn_artifact_dir: NonBlank
    started_at_utc: NonBlank
    tmux_session_name: NonBlank
    tmux_window_name: str | None = None
    tmux_window_id: str | None = None
    tmux_pane_id: str | None = None
    process_path: str | None = None
    process_started_at_utc: str | None = None
    runner_pid: int | None = None
    child_pid: int | None = None
    interrupt_requested_at_utc: str | None = None


class ActiveTurn(_Running, frozen=True, kw_only=True):
    """`active_turn.json`: exists only while a turn runs."""


class TurnRecord(_Running, frozen=True, kw_only=True):
    """One turn, written before it starts."""

    status: RecordedStatus = "active"
    completed_at_utc: str | None = None
    stdout_path: str | None = None
    stderr_path: str | None = None
    status_path: str | None = None
    completion_source: str | None = None
    returncode: int | None = None
    error: str | None = None
    history_summary: str | None = None
    diagnostics: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        return self.status != "active"

    def running(self) -> ActiveTurn:
        """The turn in the form of `active_turn.json`."""
        shared = {name: getattr(self, name) for name in ActiveTurn.__struct_fields__}
        return ActiveTurn(**shared)
