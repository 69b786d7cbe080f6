"""`record.json`: the location of an agent. A locator, not proof of liveness."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from posthouse.contracts.identity import COMPONENT_PATTERN
from posthouse.contracts.manifest import Backend
from posthouse.contracts.strict import NonBlank, Port, Strict
from posthouse.support import clock

SCHEMA_VERSION = 3

LifecycleState = Literal["active", "stopped", "relaunching", "retired"]
ENDED = ("stopped", "retired")
Component = Annotated[str, msgspec.Meta(pattern=COMPONENT_PATTERN)]


class Lifecycle(Strict, frozen=True, kw_only=True):
    state: LifecycleState
    relaunchable: bool
    state_updated_at: NonBlank
    stopped_at: str | None = None
    stop_reason: str | None = None

    def __post_init__(self) -> None:
        _aware(self.state_updated_at)
        ended = self.state in ENDED
        if ended != (self.stopped_at is not None):
            raise ValueError("stopped_at goes with the states stopped and retired, and only with them")
        if self.stopped_at is not None:
            _aware(self.stopped_at)
        if self.stop_reason is not None and not ended:
            raise ValueError("stop_reason goes with the states stopped and retired only")
        if self.state == "retired" and self.relaunchable:
            raise ValueError("a retired agent is not relaunchable")


class Identity(Strict, frozen=True, kw_only=True):
    backend: Backend
    tool: NonBlank


class Runtime(Strict, frozen=True, kw_only=True):
    manifest_path: NonBlank
    session_root: str | None = None
    agent_def_dir: str | None = None


class Terminal(Strict, frozen=True, kw_only=True):
    kind: Literal["tmux"] = "tmux"
    current_session_name: str | None = None
    last_session_name: NonBlank


class Liveness(Strict, frozen=True, kw_only=True):
    published_at: NonBlank
    lease_expires_at: NonBlank

    def __post_init__(self) -> None:
        if _aware(self.lease_expires_at) <= _aware(self.published_at):
            raise ValueError("lease_expires_at is later than published_at")


class GatewayLocator(Strict, frozen=True, kw_only=True):
    host: Literal["127.0.0.1", "0.0.0.0"]
    port: Port
    state_path: NonBlank
    protocol_version: Literal["v1"]


class FilesystemMailbox(Strict, frozen=True, kw_only=True, tag_field="transport", tag="filesystem"):
    principal_id: NonBlank
    address: NonBlank
    filesystem_root: NonBlank
    bindings_version: NonBlank


class StalwartMailbox(Strict, frozen=True, kw_only=True, tag_field="transport", tag="stalwart"):
    principal_id: NonBlank
    address: NonBlank
    bindings_version: NonBlank
    jmap_url: NonBlank
    management_url: NonBlank
    login_identity: NonBlank
    credential_ref: NonBlank


class Record(Strict, frozen=True, kw_only=True):
    """One agent, active or stopped."""

    schema_version: int
    agent_name: Component
    agent_id: Component
    generation_id: NonBlank
    lifecycle: Lifecycle
    identity: Identity
    runtime: Runtime
    terminal: Terminal
    liveness: Liveness | None = None
    gateway: GatewayLocator | None = None
    mailbox: FilesystemMailbox | StalwartMailbox | None = None

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION:
            raise ValueError(f"schema_version is {self.schema_version}, only {SCHEMA_VERSION} is read")
        current = self.terminal.current_session_name
        if self.lifecycle.state in ENDED:
            if self.liveness or self.gateway or current is not None:
                raise ValueError(f"{self.lifecycle.state}: no liveness, gateway or current session")
        elif self.liveness is None or current is None:
            raise ValueError(f"{self.lifecycle.state}: liveness and a current session are needed")

    def is_fresh(self, moment: datetime) -> bool:
        return self.liveness is not None and clock.parse(self.liveness.lease_expires_at) >= moment

    def is_active(self, moment: datetime) -> bool:
        """Whether the record is marked active. Only tmux knows real liveness."""
        return self.lifecycle.state == "active" and self.is_fresh(moment)


def upgrade(payload: dict[str, Any]) -> dict[str, Any]:
    """A schema 2 payload (flat liveness, one session name) as schema 3; others unchanged."""
    if payload.get("schema_version", 2) != 2:
        return payload
    upgraded = dict(payload)
    published, expires = upgraded.pop("published_at", None), upgraded.pop("lease_expires_at", None)
    terminal = dict(payload.get("terminal") or {})
    session = terminal.pop("session_name", None)
    upgraded["schema_version"] = SCHEMA_VERSION
    upgraded["terminal"] = {**terminal, "current_session_name": session, "last_session_name": session}
    upgraded["liveness"] = {"published_at": published, "lease_expires_at": expires}
    upgraded["lifecycle"] = {
        "state": "active",
        "relaunchable": True,
        "state_updated_at": published,
        "stopped_at": None,
        "stop_reason": None,
    }
    return upgraded


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment
