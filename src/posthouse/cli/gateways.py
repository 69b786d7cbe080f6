"""Gateways for commands: find, start, stop and query one."""

from typing import TYPE_CHECKING, Any, NamedTuple

from posthouse.cli import progress
from posthouse.cli.wiring import Wiring
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import strict
from posthouse.errors import PosthouseError, Unavailable
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.sessions import publication
from posthouse.sessions.session import Session
from posthouse.support import untrusted_files

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient


class GatewayAddress(NamedTuple):
    """The address of a gateway."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


def not_attached(agent_name: str, reason: PosthouseError, prog: str) -> Unavailable:
    """The error for an agent that runs while its gateway could not be started."""
    return Unavailable(
        f"agent {agent_name!r} runs, but its gateway could not be attached: {reason}; "
        f"try again with `{prog} agents gateway attach {agent_name}`",
        code="gateway_not_attached",
    )


def live_instance(session: Session) -> gf.CurrentInstance | None:
    """The live gateway process of the session, or None. Reads files, without a request."""
    try:
        content = untrusted_files.read_own_bytes(session.gateway_root / gf.CURRENT_INSTANCE)
        instance = strict.decode(content, gf.CurrentInstance)
    except (OSError, ValueError):
        # There is no file, or it is being replaced.
        return None
    return instance if gateway_lock.holder_of(session.gateway_root) == instance.pid else None


def ensure(
    wiring: Wiring,
    session: Session,
    *,
    mode: gf.ExecutionMode | None = None,
    hosted: bool | None = None,
    host: gf.Host | None = None,
    port: int | None = None,
    diagnostics: gf.DiagnosticLogging | None = None,
    timings: gf.TrackingTimings | None = None,
) -> GatewayAddress:
    """The address of the session's live gateway; starts it if there is none.

    Raises:
        PosthouseError: It could not be started; the message has the reason.
    """
    from posthouse.gateway_lifecycle import attach

    with progress.delayed_message(f"waiting for the gateway of {session.agent_name} to start ..."):
        attached = attach.attach(
            session,
            wiring.registry,
            environment=wiring.environment,
            mode=mode,
            hosted=hosted,
            host=host,
            port=port,
            diagnostics=diagnostics,
            timings=timings,
        )
    assert attached.gateway_host is not None
    assert attached.gateway_port is not None
    return GatewayAddress(attached.gateway_host, attached.gateway_port)


def detach(wiring: Wiring, session: Session) -> bool:
    """Stop the session's gateway. False: there was none."""
    from posthouse.gateway_lifecycle import attach

    had_one = gateway_lock.holder_of(session.gateway_root) is not None
    attach.detach(session, wiring.registry)
    return had_one


def client_of(wiring: Wiring, session: Session) -> "GatewayClient | None":
    """A client of the session's live gateway, or None."""
    instance = live_instance(session)
    if instance is None:
        return None
    from posthouse.clients.gateway import GatewayClient

    return GatewayClient(instance.host, instance.port, respect_proxy=wiring.respects_proxy)


def status(wiring: Wiring, session: Session) -> dict[str, Any]:
    """The status of the live gateway, or the offline status if there is none."""
    client = client_of(wiring, session)
    if client is not None:
        return client.status()
    desired = publication.desired_config(session)
    return gf.offline_status(publication.attach_of(session), desired.desired_execution_mode)


def host_of(session: Session) -> int | None:
    """The pid of the host that runs the session's gateway; None: it is not hosted, or there is none."""
    from posthouse.gateway_lifecycle import host_client

    pid = gateway_lock.holder_of(session.gateway_root)
    return pid if pid is not None and pid == host_client.pid_of(session.runtime_root) else None
