"""Errors of the coordination server's clients."""

from collections.abc import Mapping
from typing import Any

from posthouse.clients.wire_helpers import format_detail
from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, PosthouseError, Unavailable


class BadServerAddress(InvalidInput):
    """The server address is invalid; no request was sent."""

    code = "bad_server_address"


class ServerUnreachable(Unavailable):
    """No response in time. The request may have been executed."""

    code = "server_unreachable"


class NotAServer(Unavailable):
    """The service at the address is not a coordination server; no request was sent to it."""

    code = "not_a_pair"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"the service at {url} is not a coordination server; `posthouse serve` starts one, on port 9891"
        )


class UnexpectedResponse(Unavailable):
    """The response can't be decoded by this version."""

    code = "server_other_shape"


class ServerRefused(PosthouseError):
    """The server refused the request. Subclasses also belong to the error family of their status."""

    code = "server_refused"

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        #: As received: a text, an object or a list of problems.
        self.detail: Any = body.get("detail")
        super().__init__(format_detail(self.detail) or f"the server answered {status}")
        self.facts = {name: value for name, value in body.items() if name != "detail"}


class ServerInvalid(ServerRefused, InvalidInput):
    """The request is invalid."""


class ServerNotFound(ServerRefused, NotFound):
    """The agent, turn or route does not exist."""


class ServerConflict(ServerRefused, Conflict):
    """Conflict with the current state; for an ambiguous name, `facts["agent_ids"]` lists the agents."""


class ServerDenied(ServerRefused, Denied):
    """The server denies access to this caller or token."""


class ServerUnavailable(ServerRefused, Unavailable):
    """The server runs, but the agent or its gateway is unavailable."""


class ServerUnsupported(ServerRefused, Denied):
    """The operation is not supported remotely: run it on the agent's machine."""


_FAMILIES: Mapping[int, type[ServerRefused]] = {
    401: ServerDenied,
    403: ServerDenied,
    404: ServerNotFound,
    409: ServerConflict,
    429: ServerUnavailable,
    501: ServerUnsupported,
}


def refusal(status: int, body: Mapping[str, Any]) -> ServerRefused:
    """The error for an error response."""
    family = _FAMILIES.get(status) or (ServerInvalid if 400 <= status < 500 else ServerUnavailable)
    return family(status, body)
