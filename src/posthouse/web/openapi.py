"""The OpenAPI document of a process, generated from its table of routes."""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from posthouse import __version__
from posthouse.contracts.gateway_http import Invalid
from posthouse.web.route import Route

#: Responses that any request may get before it reaches its route.
_EVERYWHERE = {
    400: "Malformed or incomplete request.",
    401: "A remote caller sent no valid token.",
    403: "The caller is another user or a web page, or its token does not allow this.",
    408: "The request arrived too slowly.",
    414: "The target is too long.",
    431: "The head is too large.",
    501: "The body has a transfer coding other than chunked.",
    503: "Too many connections.",
    505: "Unsupported HTTP version.",
}
_FIRST_REFUSAL = 400
_WITH_BODY = {413: "The body is too large."}
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "For callers from other machines, when the listener is on 0.0.0.0.",
}
_NAME = re.compile(r"\{(\w+)\}")
_REFS = "#/components/schemas/{model}"
_Wanted = tuple[str, Literal["validation", "serialization"], TypeAdapter[Any]]


def document(title: str, routes: Sequence[Route], *, is_scoped: bool = False) -> dict[str, Any]:
    """The document, deterministic for a table.

    *is_scoped*: tokens have scopes, and each route states the one that it requires.
    """
    inputs: list[_Wanted] = [
        (_key(route), "validation", route.request) for route in routes if route.request is not None
    ]
    outputs: list[_Wanted] = [
        (_key(route), "serialization", TypeAdapter(route.response))
        for route in routes
        if route.response is not None
    ]
    refusals: set[type[BaseModel]] = {Invalid, *(route.refusal for route in routes)}
    errors: list[_Wanted] = [
        (model.__name__, "serialization", TypeAdapter(model))
        for model in sorted(refusals, key=lambda model: model.__name__)
    ]
    schemas, definitions = TypeAdapter.json_schemas([*inputs, *outputs, *errors], ref_template=_REFS)
    paths: dict[str, Any] = {}
    for route in routes:
        operation = _operation(route, schemas)
        if is_scoped:
            operation["security"] = [{}, {"token": [route.required_scope]}]
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {"schemas": definitions.get("$defs", {}), "securitySchemes": {"token": _TOKEN}},
    }


def _operation(route: Route, schemas: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": route.summary, "operationId": route.handler.__name__}
    if parameters := [*_names(route), *_query(route), *_headers(route)]:
        operation["parameters"] = parameters
    if route.request is not None:
        body = schemas[_key(route), "validation"]
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    operation["responses"] = _responses(route, schemas)
    return operation


def _responses(route: Route, schemas: Any) -> dict[str, Any]:
    plain, own = schemas["Refusal", "serialization"], schemas[route.refusal.__name__, "serialization"]
    either = own if own == plain else {"anyOf": [own, plain]}
    before = _EVERYWHERE | (_WITH_BODY if route.request else {})
    responses = {status: _content(reason, plain) for status, reason in before.items()}
    responses[401]["headers"] = {"WWW-Authenticate": {"required": True, "schema": {"type": "string"}}}
    for status, reason in route.refusals.items():
        description = f"{reason} {before[status]}" if status in before else reason
        responses[status] = _content(description, either if status in before or route.headers else own)
    if route.request is not None or route.query is not None:
        # An invalid header is refused before the route's own error model applies.
        refused = [own, plain] if route.headers and own != plain else [own]
        invalid = {"anyOf": [schemas["Invalid", "serialization"], *refused]}
        responses[422] = _content("The request must be changed.", invalid)
    responses[route.success] = _success(route, schemas)
    for status, description in route.other_successes.items():
        responses[status] = {**responses[route.success], "description": description}
    return {str(status): responses[status] for status in sorted(responses)}


def _success(route: Route, schemas: Any) -> dict[str, Any]:
    schema = route.schema if route.response is None else schemas[_key(route), "serialization"]
    success: dict[str, Any] = {
        "description": "Success" if route.success < _FIRST_REFUSAL else route.summary,
        "content": {route.media_type: {"schema": schema}},
    }
    if route.response_headers:
        success["headers"] = {
            name: {"description": text, "schema": {"type": "string"}}
            for name, text in route.response_headers.items()
        }
    return success


def _names(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _NAME.findall(route.path)
    ]


def _query(route: Route) -> list[dict[str, Any]]:
    properties = route.query.model_json_schema()["properties"] if route.query else {}
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in properties.items()
    ]


def _headers(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "header", "required": False, "description": text, "schema": {"type": "string"}}
        for name, text in route.headers.items()
    ]


def _key(route: Route) -> str:
    return f"{route.method} {route.path}"


def _content(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def render(title: str, routes: Sequence[Route], *, is_scoped: bool = False) -> str:
    """The document as the text of the committed file."""
    made = document(title, routes, is_scoped=is_scoped)
    return json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
