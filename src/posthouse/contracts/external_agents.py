"""`external_agents/<id>/record.json`: an agent on another machine, reached through its server."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

from posthouse.contracts.registry import Component
from posthouse.contracts.strict import NonBlank, Strict

SCHEMA_VERSION = 1
KIND: Final = "external_communication_only"
#: Posthouse extension, next to the record, mode 0600: the bearer token for the other server.
TOKEN = "token"
#: Fields known only on the agent's machine.
_NOWHERE = (
    *("session_name", "terminal_id", "runtime_session_id", "tmux_session_name", "tmux_window_name"),
    *("manifest_path", "session_root"),
)
_ID_PREFIX = "external-"
_ID_HEX_DIGITS = 32

BaseUrl = Annotated[str, msgspec.Meta(pattern=r"^https?://[^/\s?#]+(/[^\s?#]*)?(?<!/)\Z")]


class ExternalRecord(Strict, frozen=True, kw_only=True):
    """Location of a remote agent, which can't be started or stopped here."""

    schema_version: int = SCHEMA_VERSION
    kind: Literal["external_communication_only"] = KIND
    local_name: Component
    external_agent_id: Component
    generation_id: NonBlank
    pair_api_base_url: BaseUrl
    remote_agent_ref: NonBlank
    gateway_expected: bool = False
    lifecycle_owner: Literal["remote"] = "remote"
    created_at_utc: NonBlank
    updated_at_utc: NonBlank
    verified_at_utc: str | None = None
    #: The identity that the other server last reported.
    cached_identity: dict[str, Any]

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION:
            raise ValueError(f"schema_version is {self.schema_version}, only {SCHEMA_VERSION} is read")
        if self.gateway_expected:
            raise ValueError("an external agent's gateway is its own machine's")
        created = datetime.fromisoformat(self.created_at_utc)
        for later in (self.updated_at_utc, self.verified_at_utc):
            if later is not None and datetime.fromisoformat(later) < created:
                raise ValueError(f"{later} is before it was created")

    @property
    def identity(self) -> dict[str, Any]:
        """The contract's identity, as reported by this machine."""
        cached = self.cached_identity
        return {
            "tracked_agent_id": self.external_agent_id,
            "transport": cached.get("transport") if cached.get("transport") == "tui" else "headless",
            "tool": str(cached.get("tool") or "unknown"),
            **dict.fromkeys(_NOWHERE),
            "agent_name": self.local_name,
            "agent_id": self.external_agent_id,
            "lifecycle_state": cached.get("lifecycle_state"),
            "management_kind": KIND,
            "lifecycle_owner": self.lifecycle_owner,
            "external_agent_id": self.external_agent_id,
            "remote_pair_api_base_url": self.pair_api_base_url,
            "remote_agent_ref": self.remote_agent_ref,
        }


def new_id(hex_digits: str) -> str:
    """A new id from 32 random hex digits."""
    assert len(hex_digits) == _ID_HEX_DIGITS
    return f"{_ID_PREFIX}{hex_digits}"
