"""An OpenAPI document as one self-contained HTML page without scripts."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Any

_STYLE = resources.files("posthouse.web").joinpath("page.css").read_text(encoding="utf-8")
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
#: Forbids scripts, requests and frames, and allows one style, whatever a description contains.
SECURITY = {
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}
_JSON = "application/json"
#: Statuses of any request are listed once, at the top.
_EVERYWHERE = frozenset(("400", "401", "403", "408", "413", "414", "431", "501", "505"))


def render(document: Mapping[str, Any], *, source: str) -> str:
    """*document*, which is served at *source*, as a page."""
    info = document["info"]
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>"
        f"<header><h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
        f'<p>The whole document: <a href="{escape(source)}">{escape(source)}</a>. Any request may also be '
        f"answered with {', '.join(sorted(_EVERYWHERE))} or 503 before its route sees it.</p></header>"
        f"<nav>{''.join(_links(document))}</nav><main>{''.join(_operations(document))}</main>"
        f"<section><h2>Shapes</h2>{''.join(_shapes(document))}</section></body></html>\n"
    )


def _each(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _links(document: Mapping[str, Any]) -> Iterator[str]:
    for method, path, operation in _each(document):
        name = escape(operation["operationId"])
        yield f'<a href="#{name}"><b class="{method.lower()}">{method}</b> {escape(path)}</a>'


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for method, path, operation in _each(document):
        name = escape(operation["operationId"])
        yield (
            f'<article id="{name}"><h2><b class="{method.lower()}">{method}</b> '
            f"<code>{escape(path)}</code></h2><p>{escape(operation['summary'])}</p>{_parameters(operation)}{_body(operation)}"
            f"{_answers(operation)}</article>"
        )


def _parameters(operation: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one['in'])}</td>"
        f"<td>{_schema(one['schema'])}</td><td>{escape(one.get('description', ''))}</td></tr>"
        for one in operation.get("parameters", ())
    )
    return (
        f"<table><tr><th>parameter</th><th>in</th><th>type</th><th></th></tr>{rows}</table>" if rows else ""
    )


def _body(operation: Mapping[str, Any]) -> str:
    body = operation.get("requestBody")
    return f"<p>Body: {_schema(body['content'][_JSON]['schema'])}</p>" if body else ""


def _answers(operation: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{status}</code></td><td>{escape(answer['description'])}</td>"
        f"<td>{'; '.join(_content(answer))}</td></tr>"
        for status, answer in operation["responses"].items()
        if status not in _EVERYWHERE
    )
    return f"<table><tr><th>status</th><th></th><th>answer</th></tr>{rows}</table>"


def _content(answer: Mapping[str, Any]) -> Iterator[str]:
    for media_type, content in answer.get("content", {}).items():
        shown = _schema(content["schema"])
        yield shown if media_type == _JSON else f"{shown} <i>{escape(media_type)}</i>"


def _schema(schema: Mapping[str, Any]) -> str:
    """A short name of *schema*, with links to the shapes below."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#shape-{name}">{name}</a>'
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(_schema(one) for one in schema[word]))
    if "enum" in schema or "const" in schema:
        given = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(json.dumps(one))}</code>" for one in given)
    if schema.get("type") == "array":
        return f"list of {_schema(schema.get('items', {}))}"
    return escape(str(schema.get("type", "anything")))


def _shapes(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in sorted(document["components"]["schemas"].items()):
        required = schema.get("required", ())
        rows = "".join(
            f"<tr><td><code>{escape(field)}</code>{'' if field in required else ' <i>optional</i>'}</td>"
            f"<td>{_schema(one)}</td><td>{escape(one.get('description', ''))}</td></tr>"
            for field, one in schema.get("properties", {}).items()
        )
        content = f"<table>{rows}</table>" if rows else f"<p>{_schema(schema)}</p>"
        yield (
            f'<details id="shape-{escape(name)}" open><summary>{escape(name)}</summary>'
            f"<p>{escape(schema.get('description', ''))}</p>{content}</details>"
        )
