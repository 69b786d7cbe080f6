"""Attaches a gateway to a session and detaches it: the process and its published bindings.

A crash during attach leaves either no gateway or a live, unpublished one; the next attach publishes it.
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
#: Longer than a concurrent attach waits for its gateway.
_ATTACH_WAIT_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachResult:
    """Result of an attach or detach."""

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

    A *hosted* gateway runs in the host of the runtime root, which is started if needed. Omitted options are
    taken from the last attach; port 0 is any free port. A live gateway keeps its diagnostic log and timings;
    new values are stored for the next start.

    Raises:
        InvalidInput: The session has a legacy backend (`unsupported_backend`).
        Unavailable: The gateway or its host did not start, does not answer or refused (`attach_failed`,
            `host_failed`, `host_silent`, `host_refused`).
        LockHeld: Another attach or detach of this session took too long.
    """
    if session.manifest.backend in LEGACY:
        raise InvalidInput(
            f"backend {session.manifest.backend} does not support a gateway: start a new session",
            code="unsupported_backend",
        )
    root = files.private_folder(session.gateway_root)
    with locks.hold(root / _ATTACH_LOCK, wait_seconds=_ATTACH_WAIT_SECONDS):
        bindings.update_desired_config(session, diagnostics, timings)
        instance = live(session)
        if instance is None:
            instance = _start(
                session,
                _desired_config(session, mode, host, port),
                environment,
                _choose_hosted(session, mode, hosted),
            )
            crashpoints.reach("gateway started")
        bindings.publish(session, registry, instance)
    return AttachResult(
        action="gateway_attach",
        detail=f"gateway {instance.pid} serves {session.agent_name}",
        gateway_root=str(root),
        gateway_host=instance.host,
        gateway_port=instance.port,
    )


def detach(session: Session, registry: Registry | None) -> AttachResult:
    """End the session's gateway and withdraw its bindings. A no-op without one.

    Without a *registry* the caller, who holds the record's lock, updates the record.
    """
    root = files.private_folder(session.gateway_root)
    with locks.hold(root / _ATTACH_LOCK, wait_seconds=_ATTACH_WAIT_SECONDS):
        pid = _end(session)
        crashpoints.reach("gateway ended")
        bindings.withdraw(session)
        if registry is not None:
            bindings.update_registry(session, registry, None)
    detail = f"gateway {pid} ended" if pid is not None else "no gateway was attached"
    return AttachResult(action="gateway_detach", detail=detail, gateway_root=str(root))


def _choose_hosted(session: Session, mode: gf.ExecutionMode | None, hosted: bool | None) -> bool:
    """Whether to run in the host: as requested, else as at the last attach. Stores the choice."""
    if hosted is None:
        hosted = mode is None and bindings.was_hosted(session)
    bindings.set_hosted(session, is_hosted=hosted)
    return hosted


def _start(
    session: Session, desired: gf.DesiredConfig, environment: Mapping[str, str], is_hosted: bool
) -> gf.CurrentInstance:
    if is_hosted:
        return process.start_hosted(session, desired, environment, live=lambda: live(session))
    # A restarted host must not adopt a gateway that now gets its own process.
    host_client.release(session.runtime_root, session.gateway_root)
    return process.start(session, desired, environment, live=lambda: live(session))


def _end(session: Session) -> int | None:
    """End the gateway but not its host. Returns its pid, or None."""
    pid = gateway_lock.holder_of(session.gateway_root)
    is_hosted = pid is not None and pid == host_client.pid_of(session.runtime_root)
    host_client.release(session.runtime_root, session.gateway_root)
    return pid if is_hosted else gateway_lock.end(session.gateway_root)


def live(session: Session) -> gf.CurrentInstance | None:
    """The session's live gateway: its process holds the root, its record is valid, and it answers."""
    instance = bindings.read_instance(session)
    if instance is None or gateway_lock.holder_of(session.gateway_root) != instance.pid:
        return None
    try:
        health = GatewayClient(instance.host, instance.port, timeout_seconds=_HEALTH_SECONDS).health()
    except PosthouseError:
        return None
    return instance if health == {"protocol_version": names.PROTOCOL_VERSION, "status": "ok"} else None


def _desired_config(
    session: Session, mode: gf.ExecutionMode | None, host: gf.Host | None, port: int | None
) -> gf.DesiredConfig:
    """The requested options; omitted ones as at the last attach."""
    desired = publication.desired_config(session)
    return structs.replace(
        desired,
        desired_host=host or desired.desired_host or "127.0.0.1",
        desired_port=(desired.desired_port if port is None else port) or None,
        desired_execution_mode=mode or desired.desired_execution_mode,
    )
