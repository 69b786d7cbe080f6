"""Registry file and control protocol of a process that hosts many gateways; a posthouse extension."""

from typing import Literal

from posthouse.contracts.gateway_files import Host
from posthouse.contracts.strict import NonBlank, Port, PositiveInt, Strict

#: Under the runtime root.
FOLDER = "gateway-host"
#: Lock held by the one host of a runtime root during its lifetime.
LOCK = "host.lock"
SOCKET = "host.sock"
LOG = "host.log"
ROLL = "gateways.json"
#: Maximum length of a request or response line.
MAX_LINE_BYTES = 1 << 20


class HostRegistryEntry(Strict, frozen=True, kw_only=True):
    """One gateway of a host: its session, and the requested address."""

    gateway_root: NonBlank
    host: Host = "127.0.0.1"
    #: None: as at its last attach, or any free port.
    port: Port | None = None


class HostRegistryFile(Strict, frozen=True, kw_only=True):
    """`gateways.json`: the gateways that a host restores when it starts."""

    schema_version: Literal[1] = 1
    seats: tuple[HostRegistryEntry, ...] = ()


class HostedGatewayStatus(Strict, frozen=True, kw_only=True):
    """Status of one hosted gateway."""

    gateway_root: NonBlank
    state: Literal["starting", "serving", "failed"]
    port: Port | None = None
    #: Why it does not serve; it is retried.
    problem: str | None = None


class HostRequest(Strict, frozen=True, kw_only=True):
    """A request to a host: serve a gateway, release one, or list them."""

    ask: Literal["adopt", "release", "list"]
    seat: HostRegistryEntry | None = None


class HostResponse(Strict, frozen=True, kw_only=True):
    """A host's response. A *code* means failure, with the reason in *message*."""

    pid: PositiveInt
    gateways: tuple[HostedGatewayStatus, ...] = ()
    code: str | None = None
    message: str | None = None
