"""Errors as HTTP tells them: the table of statuses, and bodies in the shape clients know from FastAPI."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, PosthouseError, Unavailable

#: Families by what the caller does next, most particular first.
STATUSES: Mapping[type[PosthouseError], int] = {
    InvalidInput: 422,
    NotFound: 404,
    Conflict: 409,
    Denied: 403,
    Unavailable: 503,
}
#: More say nothing new, and a hostile body could have a million.
_MAX_TOLD = 50


class InvalidBody(Exception):
    """The body is not what the route takes."""

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


def problems_of(error: ValidationError, body: bytes) -> list[dict[str, Any]]:
    """Everything that is wrong with *body*, field by field."""
    told = error.errors(include_url=False)[:_MAX_TOLD]
    if told[0]["type"] == "json_invalid":
        return [_malformed(body, told[0])]
    return [_problem(one) for one in told]


def problem(kind: str, loc: list[str | int], msg: str, given: object = None) -> dict[str, Any]:
    return {"type": kind, "loc": loc, "msg": msg, "input": given}


def _problem(one: ErrorDetails) -> dict[str, Any]:
    told = problem(one["type"], ["body", *one["loc"]], one["msg"], one["input"])
    if ctx := one.get("ctx"):
        # A ValueError of ours is not JSON; its words are.
        told["ctx"] = {
            name: str(value) if isinstance(value, Exception) else value for name, value in ctx.items()
        }
    return told


def _malformed(body: bytes, one: ErrorDetails) -> dict[str, Any]:
    """Where the JSON breaks, as Python's own parser counts; it takes a little more than pydantic's."""
    reason, position = one.get("ctx", {}).get("error", "not JSON"), 0
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        reason, position = error.msg, error.pos
    except UnicodeDecodeError as error:
        reason, position = "not UTF-8", error.start
    except RecursionError:
        reason = "nested too deeply"
    return {**problem("json_invalid", ["body", position], "JSON decode error", {}), "ctx": {"error": reason}}


async def on_invalid_body(_: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidBody)
    return JSONResponse({"detail": error.problems}, 422)


async def on_refusal(_: Request, error: Exception) -> Response:
    status = next(status for family, status in STATUSES.items() if isinstance(error, family))
    return JSONResponse({"detail": str(error)}, status)


async def on_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)


async def on_crash(_: Request, __: Exception) -> Response:
    """Tell nothing: the server logs the traceback."""
    return JSONResponse({"detail": "Internal Server Error"}, 500)
