"""Forwards requests for agents on other machines to their servers.

Scopes and request shapes are checked here as for every agent; the remote server decides the result. Requests
that start or stop an agent or its gateway are not forwarded.
"""

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from posthouse.clients.server import async_request, endpoints
from posthouse.clients.server.endpoint import Address, EndpointRequest, RawResponse
from posthouse.contracts.gateway_receipts_http import MAX_WAIT_SECONDS, REQUEST_ID
from posthouse.errors import Conflict
from posthouse.server.agent_index import AmbiguousAgent, UnknownAgent
from posthouse.server.externals import ExternalAgent
from posthouse.server.http.common import AGENT
from posthouse.server.service import ServerService
from posthouse.support import untrusted_files
from posthouse.web.route import Route, RouteInput

_SECONDS = 30.0
_LIFECYCLE = frozenset({f"{AGENT}/stop", f"{AGENT}/gateway/attach", f"{AGENT}/gateway/detach"})
_KEPT_HEADERS = frozenset(
    {"content-type", "content-range", "accept-ranges", "retry-after", REQUEST_ID.lower()}
)
_UNREACHABLE = {503: "The agent runs on another machine, whose server does not answer."}


def with_external_agents(route: Route) -> Route:
    """*route*, forwarded to the remote server for external agents."""
    if "{agent_ref}" not in route.path:
        return route

    async def handler(server: ServerService, inputs: RouteInput) -> BaseModel | Response:
        external = _find_external(server, inputs.path_params["agent_ref"])
        return await (
            route.handler(server, inputs) if external is None else _forward(route, external, inputs)
        )

    handler.__name__ = route.handler.__name__
    return replace(route, handler=handler, refusals={**_UNREACHABLE, **route.refusals})


def _find_external(server: ServerService, ref: str) -> ExternalAgent | None:
    """The external agent that *ref* resolves to; local agents take precedence."""
    external = server.externals.find(ref)
    if external is None:
        return None
    try:
        server.member(ref)
    except UnknownAgent:
        return external
    except AmbiguousAgent:
        return None
    return None


async def _forward(route: Route, external: ExternalAgent, inputs: RouteInput) -> Response:
    if route.path in _LIFECYCLE:
        raise _not_local(external)
    if route.path == AGENT:
        return Response(external.encoded, media_type="application/json")
    seconds = _SECONDS + (MAX_WAIT_SECONDS if route.waits else 0)
    authorization = {} if external.token is None else {"authorization": f"Bearer {external.token}"}
    address = Address.parse(external.record.pair_api_base_url)
    raw = await async_request.fetch(
        address, _endpoint_request(route, external, inputs), authorization, seconds=seconds
    )
    headers = {name: value for name, value in raw.headers.items() if name in _KEPT_HEADERS}
    there, here = (
        endpoints.path_of(external.record.remote_agent_ref),
        endpoints.path_of(inputs.path_params["agent_ref"]),
    )
    if (location := raw.headers.get("location", "")).startswith(f"{there}/"):
        headers["location"] = here + location.removeprefix(there)
    return Response(localize(raw, external), raw.status, headers)


def _not_local(external: ExternalAgent) -> Conflict:
    record = external.record
    return Conflict(
        f"{record.local_name!r} runs at {record.pair_api_base_url} and accepts only requests from here; "
        "start and stop it on its own machine",
        code="external_agent",
    )


def _endpoint_request(
    route: Route, external: ExternalAgent, inputs: RouteInput
) -> EndpointRequest[RawResponse]:
    names = {name: urllib.parse.quote(value, safe="") for name, value in inputs.path_params.items()}
    below = route.path.removeprefix(AGENT).format(**names)
    is_query = route.query is not None
    return EndpointRequest(
        method=route.method,
        path=endpoints.path_of(external.record.remote_agent_ref) + below,
        query=_query(inputs.body) if is_query else {},
        body=None if is_query else _body(inputs.body),
        headers=inputs.headers,
        read=lambda raw: raw,
    )


def _query(given: Any) -> dict[str, str]:
    if isinstance(given, str):
        return dict(urllib.parse.parse_qsl(given, keep_blank_values=True))
    decoded = given.model_dump(mode="json", exclude_unset=True) if isinstance(given, BaseModel) else {}
    return {
        name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in decoded.items()
    }


def _body(given: Any) -> bytes | None:
    if isinstance(given, BaseModel):
        return given.model_dump_json(exclude_unset=True).encode()
    return given if isinstance(given, bytes) else None


def localize(raw: RawResponse, external: ExternalAgent) -> bytes:
    """The response body with the local identity of the agent in place of the remote one."""
    if raw.status >= 300 or "json" not in raw.headers.get("content-type", ""):
        return raw.content
    try:
        decoded = untrusted_files.decode_json(raw.content)
    except ValueError:
        return raw.content
    return (
        json.dumps(_localize_fields(decoded, external)).encode() if isinstance(decoded, dict) else raw.content
    )


def _localize_fields(decoded: Mapping[str, Any], external: ExternalAgent) -> dict[str, Any]:
    changed = dict(decoded)
    if "tracked_agent_id" in changed:
        changed["tracked_agent_id"] = external.record.external_agent_id
    if isinstance(changed.get("identity"), dict):
        changed["identity"] = external.record.identity
    if isinstance(changed.get("summary_state"), dict):
        changed["summary_state"] = _localize_fields(changed["summary_state"], external)
    return changed
