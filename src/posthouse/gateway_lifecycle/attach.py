"""Attaching a gateway to a session and detaching it: the process, and what is published about it.

Whoever is killed in the middle leaves either no gateway or a live one that is not yet published;
the next attach finds it and publishes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from posthouse.clients.gateway import GatewayClient
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.contracts.manifest import LEGACY
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.gateway_lifecycle import bindings, gateway_lock, host_client, process
from posthouse.sessions import publication
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.support import crashpoints, files, locks

_HEALTH_SECONDS = 10.0
_ATTACH_LOCK = "run/attach.lock"
#: Longer than the other one waits for its gateway.
_ATTACH_WAIT_SECONDS = 90.0


class NoGatewayBackend(InvalidInput):
    """Sessions of that backend take no gateway."""

    code = "unsupported_backend"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachResult:
    """What an attach or detach came to."""

    action: Literal["gateway_attach", "gateway_detach"]
    detail: str
    gateway_root: str
    status: Literal["ok"] = "ok"
    gateway_host: str | None = None
    gateway_port: int | None = None


def attach(
    session: Session,
    registry: Registry,
    *,
    environment: Mapping[str, str],
    mode: gf.ExecutionMode | None = None,
    hosted: bool | None = None,
    host: gf.Host | None = None,
    port: int | None = None,
    diagnostics: gf.DiagnosticLogging | None = None,
    timings: gf.TrackingTimings | None = None,
) -> AttachResult:
    """Start the session's gateway and publish it. With a healthy one attached, only publish again.

    A *hosted* one lives in the host of the runtime root, which is started if there is none. What is not
    given is taken from the last attach; port 0 is any free one. A live gateway keeps its diagnostic log
    and timings as they are: a new wish for them is kept for the next start.

    Raises:
        NoGatewayBackend: The session is of a legacy backend.
        AttachFailed: It did not come up; the message has the last lines of its log.
        HostFailed, HostSilent, HostRefused: The host did not start, does not answer, or could not serve it.
        LockHeld: Another attach or detach of this session took too long.
    """
    if session.manifest.backend in LEGACY:
        raise NoGatewayBackend(f"backend {session.manifest.backend} takes no gateway: start a new session")
    root = files.private_folder(session.gateway_root)
    with locks.hold(root / _ATTACH_LOCK, wait_seconds=_ATTACH_WAIT_SECONDS):
        bindings.wish(session, diagnostics, timings)
        there = live(session)
        if there is None:
            there = _start(
                session, _wish(session, mode, host, port), environment, _where(session, mode, hosted)
            )
            crashpoints.reach("gateway started")
        bindings.publish(session, registry, there)
    return AttachResult(
        action="gateway_attach",
        detail=f"gateway {there.pid} serves {session.agent_name}",
        gateway_root=str(root),
        gateway_host=there.host,
        gateway_port=there.port,
    )


def detach(session: Session, registry: Registry | None) -> AttachResult:
    """End the session's gateway and take back what was published about it. Harmless without one.

    Without a *registry* the record is left to the caller, who holds its lock and writes it anyway.
    """
    root = files.private_folder(session.gateway_root)
    with locks.hold(root / _ATTACH_LOCK, wait_seconds=_ATTACH_WAIT_SECONDS):
        pid = _end(session)
        crashpoints.reach("gateway ended")
        bindings.withdraw(session)
        if registry is not None:
            bindings.record(session, registry, None)
    detail = f"gateway {pid} ended" if pid is not None else "no gateway was attached"
    return AttachResult(action="gateway_detach", detail=detail, gateway_root=str(root))


def _where(session: Session, mode: gf.ExecutionMode | None, hosted: bool | None) -> bool:
    """Whether the gateway goes into the host: as it is asked for now, else as at the last attach."""
    if hosted is None:
        hosted = mode is None and bindings.is_host_wished(session)
    bindings.wish_host(session, is_hosted=hosted)
    return hosted


def _start(
    session: Session, wish: gf.DesiredConfig, environment: Mapping[str, str], is_hosted: bool
) -> gf.CurrentInstance:
    if is_hosted:
        return process.start_hosted(session, wish, environment, live=lambda: live(session))
    # A host that died must not take up again what gets a process of its own now.
    host_client.release(session.runtime_root, session.gateway_root)
    return process.start(session, wish, environment, live=lambda: live(session))


def _end(session: Session) -> int | None:
    """End the gateway, and never the host that it may live in. The pid it had, or None."""
    pid = gateway_lock.holder_of(session.gateway_root)
    is_hosted = pid is not None and pid == host_client.pid_of(session.runtime_root)
    host_client.release(session.runtime_root, session.gateway_root)
    return pid if is_hosted else gateway_lock.end(session.gateway_root)


def live(session: Session) -> gf.CurrentInstance | None:
    """The session's live gateway: its process holds the root, its record is valid, and it answers."""
    instance = bindings.recorded(session)
    if instance is None or gateway_lock.holder_of(session.gateway_root) != instance.pid:
        return None
    try:
        health = GatewayClient(instance.host, instance.port, timeout_seconds=_HEALTH_SECONDS).health()
    except PosthouseError:
        return None
    return instance if health == {"protocol_version": names.PROTOCOL_VERSION, "status": "ok"} else None


def _wish(
    session: Session, mode: gf.ExecutionMode | None, host: gf.Host | None, port: int | None
) -> gf.DesiredConfig:
    """What is asked for now; what is not, as at the last attach."""
    desired = publication.desired_config(session)
    return structs.replace(
        desired,
        desired_host=host or desired.desired_host or "127.0.0.1",
        desired_port=(desired.desired_port if port is None else port) or None,
        desired_execution_mode=mode or desired.desired_execution_mode,
    )
