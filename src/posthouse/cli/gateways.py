"""Gateways as commands need them: is one there, start one, ask it."""

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


class Address(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


class NotAttached(Unavailable):
    """The agent runs, but its gateway could not be started."""

    code = "gateway_not_attached"

    def __init__(self, agent_name: str, reason: PosthouseError, prog: str) -> None:
        super().__init__(
            f"agent {agent_name!r} runs, but its gateway could not be attached: {reason}; "
            f"try again with `{prog} agents gateway attach {agent_name}`"
        )


def process_of(found: Session) -> gf.CurrentInstance | None:
    """The gateway process that the session's files name, if it lives. Asks nobody."""
    try:
        content = untrusted_files.read_own_bytes(found.gateway_root / gf.CURRENT_INSTANCE)
        instance = strict.decode(content, gf.CurrentInstance)
    except (OSError, ValueError):
        # None, or one that is just being replaced: either way there is none to name.
        return None
    return instance if gateway_lock.holder_of(found.gateway_root) == instance.pid else None


def ensure(
    wiring: Wiring,
    found: Session,
    *,
    mode: gf.ExecutionMode | None = None,
    hosted: bool | None = None,
    host: gf.Host | None = None,
    port: int | None = None,
    diagnostics: gf.DiagnosticLogging | None = None,
    timings: gf.TrackingTimings | None = None,
) -> Address:
    """Where the session's live gateway listens; it is started if there is none.

    Raises:
        PosthouseError: It could not be started; the message says why.
    """
    from posthouse.gateway_lifecycle import attach

    with progress.saying(f"waiting for the gateway of {found.agent_name} to start ..."):
        made = attach.attach(
            found,
            wiring.registry,
            environment=wiring.environment,
            mode=mode,
            hosted=hosted,
            host=host,
            port=port,
            diagnostics=diagnostics,
            timings=timings,
        )
    assert made.gateway_host is not None
    assert made.gateway_port is not None
    return Address(made.gateway_host, made.gateway_port)


def detach(wiring: Wiring, found: Session) -> bool:
    """End the session's gateway. False: it had none."""
    from posthouse.gateway_lifecycle import attach

    had_one = gateway_lock.holder_of(found.gateway_root) is not None
    attach.detach(found, wiring.registry)
    return had_one


def client_of(wiring: Wiring, found: Session) -> "GatewayClient | None":
    """A client of the session's live gateway, or None."""
    instance = process_of(found)
    if instance is None:
        return None
    from posthouse.clients.gateway import GatewayClient

    return GatewayClient(instance.host, instance.port, respect_proxy=wiring.respects_proxy)


def status(wiring: Wiring, found: Session) -> dict[str, Any]:
    """What the live gateway says of itself; without one, the status of having none."""
    client = client_of(wiring, found)
    if client is not None:
        return client.status()
    desired = publication.desired_config(found)
    return gf.offline_status(publication.attach_of(found), desired.desired_execution_mode)


def host_of(found: Session) -> int | None:
    """The host that the session's live gateway runs in; None when it has a process of its own, or none."""
    from posthouse.gateway_lifecycle import host_client

    pid = gateway_lock.holder_of(found.gateway_root)
    return pid if pid is not None and pid == host_client.pid_of(found.runtime_root) else None
