"""Agents that only a registry knows: without a manifest nobody can say that they do not run."""

from posthouse.contracts.registry import GatewayLocator, Identity, Lifecycle, Record, Runtime, Terminal
from posthouse.coordination.member import Member
from posthouse.sessions.registry import lease

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


def _locator(port: int) -> GatewayLocator:
    return GatewayLocator(host="127.0.0.1", port=port, state_path="/s", protocol_version="v1")
