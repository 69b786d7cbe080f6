"""Routes that an agent's gateway answers: what it is asked, and its answer as it came."""

import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from posthouse.clients.connections import Answer
from posthouse.contracts.gateway_receipts_http import REQUEST_ID
from posthouse.coordination.gateways import ASK_SECONDS, LiveGateway
from posthouse.coordination.http.common import AGENT, FINDING
from posthouse.coordination.service import Coordination
from posthouse.web.route import Addressed, Handler

#: Beyond what the gateway itself refuses with.
REFUSALS: Final = {
    **FINDING,
    502: "What listens where the gateway should be is none.",
    503: "The agent has no live gateway, or it ended before it answered.",
}
_KEPT = ("content-type", "retry-after", REQUEST_ID.lower())
_REQUESTS = "/v1/requests/"


def refusals(own: Mapping[int, str]) -> dict[int, str]:
    """Those of a route behind which a gateway refuses with *own*."""
    return {
        status: " ".join(filter(None, [REFUSALS.get(status), own.get(status)]))
        for status in sorted({*REFUSALS, *own})
    }


def to_gateway(
    method: str, path: str, name: str, *, is_mail: bool = False, seconds: float = ASK_SECONDS
) -> Handler:
    """A handler, called *name* in the document, that has the agent's gateway answer *method* *path*."""

    async def handler(server: Coordination, asked: Addressed) -> Response:
        member = server.member(asked.names["agent_ref"])
        if is_mail:
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
