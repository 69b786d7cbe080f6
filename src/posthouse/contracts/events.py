"""Canonical events of a headless turn, in one vocabulary for all providers.

Standard library only: the bridge in the agent's pane imports this without a virtual environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

Kind = Literal[
    "session",
    "assistant",
    "reasoning",
    "action_request",
    "action_result",
    "progress",
    "completion",
    "diagnostic",
    "passthrough",
]
Provider = Literal["claude", "codex", "gemini"]
Detail = Literal["concise", "detail"]
Style = Literal["plain", "json", "fancy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRecord:
    """A decoded provider record that is not yet assigned to a turn."""

    kind: Kind
    provider_event_type: str
    #: One human-readable line.
    message: str
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalEvent:
    """One line of `canonical-events.jsonl`."""

    kind: Kind
    message: str
    turn_index: int
    provider: Provider
    provider_event_type: str
    timestamp_utc: str
    session_id: str | None = None
    data: Mapping[str, Any] | None = None
    raw_payload: Mapping[str, Any] | None = None

    def to_record(self) -> dict[str, Any]:
        # Not asdict, which deep-copies every provider record.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> "CanonicalEvent":
        return CanonicalEvent(**record)

    def public(self, detail: Detail) -> dict[str, Any]:
        """The entry shown by a turn's events route and the command line."""
        payload = {"provider": self.provider, "session_id": self.session_id, "data": self.data}
        if detail == "detail":
            payload |= {"provider_event_type": self.provider_event_type, "raw": self.raw_payload}
        return {
            "kind": self.kind,
            "message": self.message,
            "turn_index": self.turn_index,
            "timestamp_utc": self.timestamp_utc,
            "payload": payload,
        }
