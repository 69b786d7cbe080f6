"""Routes that an agent's gateway answers: what it is asked, and its answer as it came."""

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from posthouse.clients.connections import Answer
from posthouse.contracts.gateway_receipts_http import REQUEST_ID
from posthouse.contracts.managed_agents_http import Ambiguous
from posthouse.server.gateways import ASK_SECONDS, LiveGateway
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import Coordination
from posthouse.web.route import Addressed, Handler, Route

#: Beyond what the gateway itself refuses with.
_REFUSALS: Final = {
    **FINDING,
    502: "What listens where the gateway should be is none.",
    503: "The agent has no live gateway, or it ended before it answered.",
}
_KEPT = ("content-type", "retry-after", REQUEST_ID.lower())
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
    """The route at *place* below an agent that its gateway answers at *to*, and refuses with *own*.

    Bodies and queries are the gateway's to decide on; *more* are other fields of the route.
    """
    name = re.sub(r"\W+", "_", f"{place} {method}").lower()
    return Route(
        method=method,
        path=f"{AGENT}/{place}",
        summary=summary,
        handler=_handler(method, to, name, needs_mailbox=needs_mailbox, seconds=seconds),
        request=None if request is None else TypeAdapter(request),
        response=response,
        passes_on=True,
        refusals=_refusals(own),
        **{"refusal": Ambiguous, **more},
    )


def _refusals(own: Mapping[int, str]) -> dict[int, str]:
    return {
        status: " ".join(filter(None, [_REFUSALS.get(status), own.get(status)]))
        for status in sorted({*_REFUSALS, *own})
    }


def _handler(method: str, path: str, name: str, *, needs_mailbox: bool, seconds: float) -> Handler:
    """What has the agent's gateway answer; called *name* in the document."""

    async def handler(server: Coordination, asked: Addressed) -> Response:
        member = server.member(asked.names["agent_ref"])
        if needs_mailbox:
            await server.mail.require(member)
        gateway = await server.gateways.needed(member)
        return passed_on(await _ask(gateway, method, path, asked, seconds), asked)

    handler.__name__ = name
    return handler


async def _ask(gateway: LiveGateway, method: str, path: str, asked: Addressed, seconds: float) -> Answer:
    names = {name: urllib.parse.quote(value, safe="") for name, value in asked.names.items()}
    given: dict[str, Any] = {"query" if isinstance(asked.body, str) else "body": asked.body}
    return await gateway.ask(method, path.format(**names), headers=asked.headers, seconds=seconds, **given)


def passed_on(answer: Answer, asked: Addressed) -> Response:
    """*answer*, with the headers that mean something to whoever asked here."""
    headers = {name: value for name, value in answer.headers if name in _KEPT}
    location = answer.header("location")
    if location is not None and location.startswith(_REQUESTS):
        agent = AGENT.format(agent_ref=urllib.parse.quote(asked.names["agent_ref"], safe=""))
        headers["location"] = f"{agent}/gateway/requests/{location.removeprefix(_REQUESTS)}"
    return Response(answer.body, answer.status, headers)
