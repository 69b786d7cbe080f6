"""Routes about agents of other machines: their own servers answer, within limits of ours.

What a caller may ask, and in which shape, is checked here as for every agent; what becomes of it is decided
over there. Nothing that starts or ends an agent goes there.
"""

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from posthouse.clients.server import async_request, endpoints
from posthouse.clients.server.endpoint import Address, Question, Raw
from posthouse.contracts.gateway_receipts_http import MAX_WAIT_SECONDS, REQUEST_ID
from posthouse.errors import Conflict
from posthouse.server.agent_index import AmbiguousAgent, UnknownAgent
from posthouse.server.externals import Far
from posthouse.server.http.common import AGENT
from posthouse.server.service import Coordination
from posthouse.support import untrusted_files
from posthouse.web.route import Addressed, Route

_SECONDS = 30.0
_LIFECYCLE = frozenset({f"{AGENT}/stop", f"{AGENT}/gateway/attach", f"{AGENT}/gateway/detach"})
_KEPT = frozenset({"content-type", "content-range", "accept-ranges", "retry-after", REQUEST_ID.lower()})
_AWAY = {503: "The agent is of another machine, and its server does not answer."}


class OnlyTalkedTo(Conflict):
    """The agent is managed on its own machine; nothing was done."""

    code = "external_agent"

    def __init__(self, far: Far) -> None:
        record = far.record
        super().__init__(
            f"{record.local_name!r} lives at {record.pair_api_base_url} and is only talked to from here; "
            "start and stop it on its own machine"
        )


def answered_there(route: Route) -> Route:
    """*route*, which the other server answers for an agent that is external here."""
    if "{agent_ref}" not in route.path:
        return route

    async def handler(server: Coordination, asked: Addressed) -> BaseModel | Response:
        far = _far(server, asked.names["agent_ref"])
        return await (route.handler(server, asked) if far is None else _answered(route, far, asked))

    handler.__name__ = route.handler.__name__
    return replace(route, handler=handler, refusals={**_AWAY, **route.refusals})


def _far(server: Coordination, ref: str) -> Far | None:
    """The external agent that *ref* means, unless one of this machine has that name."""
    far = server.externals.find(ref)
    if far is None:
        return None
    try:
        server.member(ref)
    except UnknownAgent:
        return far
    except AmbiguousAgent:
        return None
    return None


async def _answered(route: Route, far: Far, asked: Addressed) -> Response:
    if route.path in _LIFECYCLE:
        raise OnlyTalkedTo(far)
    if route.path == AGENT:
        return Response(far.encoded, media_type="application/json")
    seconds = _SECONDS + (MAX_WAIT_SECONDS if route.waits else 0)
    proof = {} if far.token is None else {"authorization": f"Bearer {far.token}"}
    address = Address.parse(far.record.pair_api_base_url)
    raw = await async_request.exchanged(address, _question(route, far, asked), proof, seconds=seconds)
    headers = {name: value for name, value in raw.headers.items() if name in _KEPT}
    there, here = endpoints.path_of(far.record.remote_agent_ref), endpoints.path_of(asked.names["agent_ref"])
    if (location := raw.headers.get("location", "")).startswith(f"{there}/"):
        headers["location"] = here + location.removeprefix(there)
    return Response(localized(raw, far), raw.status, headers)


def _question(route: Route, far: Far, asked: Addressed) -> Question[Raw]:
    names = {name: urllib.parse.quote(value, safe="") for name, value in asked.names.items()}
    below = route.path.removeprefix(AGENT).format(**names)
    is_query = route.query is not None
    return Question(
        method=route.method,
        path=endpoints.path_of(far.record.remote_agent_ref) + below,
        query=_query(asked.body) if is_query else {},
        body=None if is_query else _body(asked.body),
        headers=asked.headers,
        read=lambda raw: raw,
    )


def _query(given: Any) -> dict[str, str]:
    if isinstance(given, str):
        return dict(urllib.parse.parse_qsl(given, keep_blank_values=True))
    told = given.model_dump(mode="json", exclude_unset=True) if isinstance(given, BaseModel) else {}
    return {
        name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in told.items()
    }


def _body(given: Any) -> bytes | None:
    if isinstance(given, BaseModel):
        return given.model_dump_json(exclude_unset=True).encode()
    return given if isinstance(given, bytes) else None


def localized(raw: Raw, far: Far) -> bytes:
    """The answer with this machine's identity of the agent in the place of the other's."""
    if raw.status >= 300 or "json" not in raw.headers.get("content-type", ""):
        return raw.content
    try:
        told = untrusted_files.decode_json(raw.content)
    except ValueError:
        return raw.content
    return json.dumps(_renamed(told, far)).encode() if isinstance(told, dict) else raw.content


def _renamed(told: Mapping[str, Any], far: Far) -> dict[str, Any]:
    changed = dict(told)
    if "tracked_agent_id" in changed:
        changed["tracked_agent_id"] = far.record.external_agent_id
    if isinstance(changed.get("identity"), dict):
        changed["identity"] = far.record.identity
    if isinstance(changed.get("summary_state"), dict):
        changed["summary_state"] = _renamed(changed["summary_state"], far)
    return changed
