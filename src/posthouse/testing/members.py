"""Agents that only a registry knows; one without a manifest can't be said not to run."""

from msgspec import structs

from posthouse.contracts.manifest import Backend
from posthouse.contracts.registry import GatewayLocator, Identity, Lifecycle, Record, Runtime, Terminal
from posthouse.server.member import Member
from posthouse.sessions.registry import lease
from posthouse.sessions.session import Session

_AT = "2026-11-15T10:00:00+00:00"


def record(name: str, *, tool: str = "scripted", gateway_port: int | None = None) -> Record:
    """A headless agent whose id is its name; with a gateway that is said to listen on *gateway_port*."""
    return Record(
        schema_version=3,
        agent_name=name,
        agent_id=name,
        generation_id="generation",
        lifecycle=Lifecycle(state="active", relaunchable=True, state_updated_at=_AT),
        identity=Identity(backend="claude_headless", tool=tool),
        runtime=Runtime(manifest_path=f"/nowhere/{name}/manifest.json"),
        terminal=Terminal(current_session_name=name, last_session_name=name),
        liveness=lease(),
        gateway=None if gateway_port is None else _locator(gateway_port),
    )


def member(name: str, *, gateway_port: int | None = None) -> Member:
    """The same, as a server knows it."""
    return Member(record=record(name, gateway_port=gateway_port), session_id=None, server=None)


def member_of(session: Session, *, backend: Backend, gateway_port: int | None = None) -> Member:
    """The agent of a session that a test made by hand."""
    known = record(session.agent_id, tool=session.manifest.tool, gateway_port=gateway_port)
    made = structs.replace(
        known,
        agent_name=session.agent_name,
        identity=Identity(backend=backend, tool=session.manifest.tool),
        runtime=Runtime(manifest_path=str(session.manifest_path)),
    )
    return Member(record=made, session_id=session.session_id, server=session.tmux.server)


def _locator(port: int) -> GatewayLocator:
    return GatewayLocator(host="127.0.0.1", port=port, state_path="/s", protocol_version="v1")
