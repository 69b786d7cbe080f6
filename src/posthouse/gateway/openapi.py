"""The OpenAPI document of the gateway, made from the table of routes.

`python -m posthouse.gateway.openapi` writes it to standard output.
"""

import json
import sys
from typing import Any, Literal

from pydantic import TypeAdapter

from posthouse import __version__
from posthouse.contracts.gateway_http import Invalid, Refusal
from posthouse.gateway.routes import ROUTES, Route

_EVERYWHERE = {403: "The caller is not a program on this machine."}
_WITH_BODY = {
    400: "The body broke off.",
    408: "The body came too slowly.",
    413: "The body is too large.",
}
_REFS = "#/components/schemas/{model}"
_Wanted = tuple[str, Literal["validation", "serialization"], TypeAdapter[Any]]


def document() -> dict[str, Any]:
    """The document. The same table always gives the same document."""
    inputs: list[_Wanted] = [
        (_key(route), "validation", route.request) for route in ROUTES if route.request is not None
    ]
    outputs: list[_Wanted] = [(_key(route), "serialization", TypeAdapter(route.response)) for route in ROUTES]
    errors: list[_Wanted] = [
        (model.__name__, "serialization", TypeAdapter(model)) for model in (Refusal, Invalid)
    ]
    schemas, definitions = TypeAdapter.json_schemas([*inputs, *outputs, *errors], ref_template=_REFS)
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Posthouse gateway", "version": __version__},
        "paths": paths,
        "components": {"schemas": definitions.get("$defs", {})},
    }


def _operation(route: Route, schemas: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": route.summary, "operationId": route.handler.__name__}
    refusals = {**_EVERYWHERE, **route.refusals}
    responses = {str(route.success): _content("It was done.", schemas[_key(route), "serialization"])}
    if route.request is not None:
        body = schemas[_key(route), "validation"]
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
        refusals |= _WITH_BODY
        either = {"anyOf": [schemas["Invalid", "serialization"], schemas["Refusal", "serialization"]]}
        responses["422"] = _content("The request must be changed.", either)
    for status, reason in refusals.items():
        responses[str(status)] = _content(reason, schemas["Refusal", "serialization"])
    operation["responses"] = dict(sorted(responses.items()))
    return operation


def _key(route: Route) -> str:
    return f"{route.method} {route.path}"


def _content(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def render() -> str:
    """The document as it is committed."""
    return json.dumps(document(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
