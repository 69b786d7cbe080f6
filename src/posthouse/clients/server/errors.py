"""How a coordination server says no, and what can be wrong on the way to it."""

from collections.abc import Mapping
from typing import Any

from posthouse.clients.wire_helpers import words_of
from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, PosthouseError, Unavailable


class BadAddress(InvalidInput):
    """No server can be there; nothing was asked."""

    code = "bad_server_address"


class ServerUnreachable(Unavailable):
    """Nobody answered there in time. What was asked for may still have been done."""

    code = "server_unreachable"


class NotAPair(Unavailable):
    """Somebody answers there, and it is no coordination server; nothing was asked of it."""

    code = "not_a_pair"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"what answers at {url} is no coordination server; `posthouse serve` starts one, on port 9891"
        )


class OtherShape(Unavailable):
    """The server answered, in a shape that this version does not know."""

    code = "server_other_shape"


class ServerRefused(PosthouseError):
    """The server said no. Also of the family that its status stands for."""

    code = "server_refused"

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        #: As it was sent: a text, an object, or a list of problems.
        self.detail: Any = body.get("detail")
        super().__init__(words_of(self.detail) or f"the server answered {status}")
        self.facts = {name: value for name, value in body.items() if name != "detail"}


class ServerInvalid(ServerRefused, InvalidInput):
    """The request must be changed."""


class ServerNotFound(ServerRefused, NotFound):
    """The server knows no such agent, turn or route."""


class ServerConflict(ServerRefused, Conflict):
    """Not in this state; of several agents with one name, `facts["agent_ids"]` says which."""


class ServerDenied(ServerRefused, Denied):
    """The server does not serve this caller, or not with that token."""


class ServerUnavailable(ServerRefused, Unavailable):
    """The server is there; the agent or its gateway is not."""


class ServerCannot(ServerRefused, Denied):
    """The server does not do this, and will not: it has to be done on the agent's own machine."""


_FAMILIES: Mapping[int, type[ServerRefused]] = {
    401: ServerDenied,
    403: ServerDenied,
    404: ServerNotFound,
    409: ServerConflict,
    429: ServerUnavailable,
    501: ServerCannot,
}


def refusal(status: int, body: Mapping[str, Any]) -> ServerRefused:
    """The error that a refusing answer stands for."""
    family = _FAMILIES.get(status) or (ServerInvalid if 400 <= status < 500 else ServerUnavailable)
    return family(status, body)
