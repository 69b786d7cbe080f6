"""What a host of many gateways keeps, and what is said between it and who puts gateways into it; ours."""

from typing import Literal

from posthouse.contracts.gateway_files import Host
from posthouse.contracts.strict import NonBlank, Port, PositiveInt, Strict

#: Under the runtime root.
FOLDER = "gateway-host"
#: Held by the one host of a runtime root for as long as it lives.
LOCK = "host.lock"
SOCKET = "host.sock"
LOG = "host.log"
ROLL = "gateways.json"
#: One question or answer, as a line of JSON, is never longer.
MAX_LINE_BYTES = 1 << 20


class Seat(Strict, frozen=True, kw_only=True):
    """One gateway of a host: whose it is, and where it was asked to listen."""

    gateway_root: NonBlank
    host: Host = "127.0.0.1"
    #: None: as at its last attach, or any free one.
    port: Port | None = None


class Roll(Strict, frozen=True, kw_only=True):
    """`gateways.json`: the gateways that a host takes up again when it starts."""

    schema_version: Literal[1] = 1
    seats: tuple[Seat, ...] = ()


class Tenancy(Strict, frozen=True, kw_only=True):
    """How one gateway in a host is."""

    gateway_root: NonBlank
    state: Literal["starting", "serving", "failed"]
    port: Port | None = None
    #: Why it does not serve; it is tried again.
    problem: str | None = None


class Question(Strict, frozen=True, kw_only=True):
    """What is asked of a host: to serve a gateway, to let one go, or what it serves."""

    ask: Literal["adopt", "release", "list"]
    seat: Seat | None = None


class Answer(Strict, frozen=True, kw_only=True):
    """What a host says. With a *code* it did not do what was asked, and *message* says why."""

    pid: PositiveInt
    gateways: tuple[Tenancy, ...] = ()
    code: str | None = None
    message: str | None = None
