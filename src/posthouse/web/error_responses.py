"""Errors as HTTP tells them: the table of statuses, and bodies in the shape clients know from FastAPI."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, to_json
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, PosthouseError, Unavailable

#: Families by what the caller does next.
STATUSES: Mapping[type[PosthouseError], int] = {
    InvalidInput: 422,
    NotFound: 404,
    Conflict: 409,
    Denied: 403,
    Unavailable: 503,
}
#: More say nothing new, and a hostile body could have a million.
_MAX_TOLD = 50
#: What was given is repeated up to this; a large body with many faults would come back many times.
_MAX_TOLD_BYTES = 64 << 10
_MAX_WORD = 200


#: What pydantic says of JSON where FastAPI, which parses first, speaks of Python values.
_NOT_AN_OBJECT = ("model_type", "dict_type")
_OBJECT_WANTED = "Input should be a valid dictionary or object to extract fields from"


class HeadedRefusal(PosthouseError):
    """A refusal whose answer carries headers."""

    headers: Mapping[str, str] = {}


class InvalidBody(Exception):
    """The body or the query is not what the route takes."""

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


class Structured(PosthouseError):
    """A refusal whose detail is an object that programs read."""

    def __init__(
        self, status: int, detail: BaseModel, words: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(words)
        self.status = status
        self.detail = detail
        self.headers = headers or {}

    def body(self) -> str:
        return json.dumps({"detail": self.detail.model_dump(mode="json")})


def problems_of(error: ValidationError, body: bytes) -> list[dict[str, Any]]:
    """Everything that is wrong with *body*, field by field."""
    told = error.errors(include_url=False)[:_MAX_TOLD]
    if told[0]["type"] == "json_invalid":
        return [_malformed(body, told[0])]
    return [_problem(one, "body") for one in told]


def problems_of_query(error: ValidationError) -> list[dict[str, Any]]:
    """Everything that is wrong behind the question mark."""
    return [_problem(one, "query") for one in error.errors(include_url=False)[:_MAX_TOLD]]


def problem(kind: str, loc: list[str | int], msg: str, given: object = None) -> dict[str, Any]:
    return {"type": kind, "loc": loc, "msg": msg, "input": given}


def _problem(one: ErrorDetails, where: Literal["body", "query"]) -> dict[str, Any]:
    loc = [where, *one["loc"]]
    if one["type"] in _NOT_AN_OBJECT:
        return problem("model_attributes_type", loc, _OBJECT_WANTED, one["input"])
    told = problem(one["type"], loc, one["msg"], one["input"])
    if ctx := one.get("ctx"):
        # FastAPI writes an exception as an empty object; its words are in the message.
        told["ctx"] = {name: {} if isinstance(value, Exception) else value for name, value in ctx.items()}
    return told


def _malformed(body: bytes, one: ErrorDetails) -> dict[str, Any]:
    """Where the JSON breaks, as Python's own parser counts; it takes a little more than pydantic's."""
    reason, position = one.get("ctx", {}).get("error", "not JSON"), 0
    try:
        json.loads(body)  # not `decode_json`: the position of the fault is needed
    except json.JSONDecodeError as error:
        reason, position = error.msg, error.pos
    except UnicodeDecodeError as error:
        reason, position = "not UTF-8", error.start
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:
        reason = "a number of too many digits"
    return {**problem("json_invalid", ["body", position], "JSON decode error", {}), "ctx": {"error": reason}}


def refusal_of(error: Exception, statuses: Mapping[type[PosthouseError], int]) -> Response | None:
    """What HTTP says for *error*; None when it is no refusal but a fault of ours.

    The first of *statuses* that fits counts: the most particular come first.
    """
    if isinstance(error, InvalidBody):
        return _invalid_body(error)
    if isinstance(error, Structured):
        return Response(error.body(), error.status, error.headers, media_type="application/json")
    if isinstance(error, PosthouseError):
        status = next(status for family, status in statuses.items() if isinstance(error, family))
        headers = error.headers if isinstance(error, HeadedRefusal) else None
        return JSONResponse({"detail": str(error), **error.facts}, status, headers=headers)
    if isinstance(error, HTTPException):
        return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)
    return None


def crashed() -> Response:
    """Tells nothing of what went wrong."""
    return JSONResponse({"detail": "Internal Server Error"}, 500)


def _invalid_body(error: InvalidBody) -> Response:
    told = _encode(error.problems)
    if len(told) > _MAX_TOLD_BYTES:
        told = _encode([_briefly(one) for one in error.problems])
    return Response(told, 422, media_type="application/json")


def _briefly(one: Mapping[str, Any]) -> dict[str, Any]:
    """*one* without what was given; names and words of the giver's own are cut."""
    loc = [part[:_MAX_WORD] if isinstance(part, str) else part for part in one["loc"]]
    return problem(one["type"], loc, one["msg"][:_MAX_WORD])


def _encode(problems: list[dict[str, Any]]) -> bytes:
    """*problems* as JSON, whatever was given: pydantic reads NaN and endless integers, which json refuses."""
    return to_json({"detail": problems}, inf_nan_mode="strings")
