"""Routes that forward requests to an agent's gateway and return its response unchanged."""

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from posthouse.clients.connections import HttpResponse
from posthouse.contracts.gateway_receipts_http import REQUEST_ID
from posthouse.contracts.managed_agents_http import Ambiguous
from posthouse.server.gateways import ASK_SECONDS, LiveGateway
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import ServerService
from posthouse.web.route import Handler, Route, RouteInput

#: Error responses beyond the gateway's own.
_REFUSALS: Final = {
    **FINDING,
    502: "The process at the gateway's port is not a gateway.",
    503: "The agent has no live gateway, or the gateway ended before it answered.",
}
_KEPT_HEADERS = ("content-type", "retry-after", REQUEST_ID.lower())
_REQUESTS = "/v1/requests/"
_NONE: Mapping[int, str] = {}


def route(
    method: str,
    place: str,
    to: str,
    summary: str,
    *,
    response: type[BaseModel],
    request: Any = None,
    own: Mapping[int, str] = _NONE,
    needs_mailbox: bool = False,
    seconds: float = ASK_SECONDS,
    **more: Any,
) -> Route:
    """The route at *place* below an agent, forwarded to *to* at its gateway, with *own* error responses.

    The gateway validates bodies and queries; *more* are other fields of the route.
    """
    name = re.sub(r"\W+", "_", f"{place} {method}").lower()
    return Route(
        method=method,
        path=f"{AGENT}/{place}",
        summary=summary,
        handler=_handler(method, to, name, needs_mailbox=needs_mailbox, seconds=seconds),
        request=None if request is None else TypeAdapter(request),
        response=response,
        forwards_raw=True,
        refusals=_refusals(own),
        **{"refusal": Ambiguous, **more},
    )


def _refusals(own: Mapping[int, str]) -> dict[int, str]:
    return {
        status: " ".join(filter(None, [_REFUSALS.get(status), own.get(status)]))
        for status in sorted({*_REFUSALS, *own})
    }


def _handler(method: str, path: str, name: str, *, needs_mailbox: bool, seconds: float) -> Handler:
    """The forwarding handler; *name* becomes its operationId in OpenAPI."""

    async def handler(server: ServerService, inputs: RouteInput) -> Response:
        member = server.member(inputs.path_params["agent_ref"])
        if needs_mailbox:
            await server.mail.require(member)
        gateway = await server.gateways.require(member)
        return to_response(await _forward(gateway, method, path, inputs, seconds), inputs)

    handler.__name__ = name
    return handler


async def _forward(
    gateway: LiveGateway, method: str, path: str, inputs: RouteInput, seconds: float
) -> HttpResponse:
    names = {name: urllib.parse.quote(value, safe="") for name, value in inputs.path_params.items()}
    given: dict[str, Any] = {"query" if isinstance(inputs.body, str) else "body": inputs.body}
    return await gateway.request(
        method, path.format(**names), headers=inputs.headers, seconds=seconds, **given
    )


def to_response(answer: HttpResponse, inputs: RouteInput) -> Response:
    """*answer* with the headers that apply to the server's caller."""
    headers = {name: value for name, value in answer.headers if name in _KEPT_HEADERS}
    location = answer.header("location")
    if location is not None and location.startswith(_REQUESTS):
        agent = AGENT.format(agent_ref=urllib.parse.quote(inputs.path_params["agent_ref"], safe=""))
        headers["location"] = f"{agent}/gateway/requests/{location.removeprefix(_REQUESTS)}"
    return Response(answer.body, answer.status, headers)
