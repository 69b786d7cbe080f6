"""Errors as HTTP responses: the table of statuses, and bodies in the shape of FastAPI's."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, to_json
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, PosthouseError, Unavailable

STATUSES: Mapping[type[PosthouseError], int] = {
    InvalidInput: 422,
    NotFound: 404,
    Conflict: 409,
    Denied: 403,
    Unavailable: 503,
}
#: Further problems add nothing, and a hostile body could have a million.
_MAX_PROBLEMS = 50
#: In larger responses the given values are left out: a large body with many faults would be repeated often.
_MAX_PROBLEM_BYTES = 64 << 10
_MAX_TEXT = 200


#: Pydantic's types for JSON that FastAPI, which parses first, reports in terms of Python values.
_NOT_AN_OBJECT = ("model_type", "dict_type")
_OBJECT_WANTED = "Input should be a valid dictionary or object to extract fields from"


class ErrorWithHeaders(PosthouseError):
    """An error whose response has additional headers."""

    headers: Mapping[str, str] = {}


class InvalidBody(Exception):
    """The body or the query does not match the route's model."""

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


class StructuredError(PosthouseError):
    """An error whose `detail` is a JSON object."""

    def __init__(
        self, status: int, detail: BaseModel, message: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail
        self.headers = headers or {}

    def body(self) -> str:
        return json.dumps({"detail": self.detail.model_dump(mode="json")})


def problems_of(error: ValidationError, body: bytes) -> list[dict[str, Any]]:
    """The problems of *body*, field by field."""
    details = error.errors(include_url=False)[:_MAX_PROBLEMS]
    if details[0]["type"] == "json_invalid":
        return [_malformed(body, details[0])]
    return [_problem(one, "body") for one in details]


def problems_of_query(error: ValidationError) -> list[dict[str, Any]]:
    """The problems of the query string."""
    return [_problem(one, "query") for one in error.errors(include_url=False)[:_MAX_PROBLEMS]]


def problem(kind: str, loc: list[str | int], msg: str, given: object = None) -> dict[str, Any]:
    return {"type": kind, "loc": loc, "msg": msg, "input": given}


def _problem(one: ErrorDetails, where: Literal["body", "query"]) -> dict[str, Any]:
    loc = [where, *one["loc"]]
    if one["type"] in _NOT_AN_OBJECT:
        return problem("model_attributes_type", loc, _OBJECT_WANTED, one["input"])
    result = problem(one["type"], loc, one["msg"], one["input"])
    if ctx := one.get("ctx"):
        # FastAPI writes an exception as an empty object; its text is in the message.
        result["ctx"] = {name: {} if isinstance(value, Exception) else value for name, value in ctx.items()}
    return result


def _malformed(body: bytes, one: ErrorDetails) -> dict[str, Any]:
    """The problem of malformed JSON, with the position of Python's parser."""
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
    """The response for *error*; None for an unexpected error.

    The first match in *statuses* counts, so subclasses come first.
    """
    if isinstance(error, InvalidBody):
        return _invalid_body(error)
    if isinstance(error, StructuredError):
        return Response(error.body(), error.status, error.headers, media_type="application/json")
    if isinstance(error, PosthouseError):
        status = next(status for family, status in statuses.items() if isinstance(error, family))
        headers = error.headers if isinstance(error, ErrorWithHeaders) else None
        return JSONResponse({"detail": str(error), **error.facts}, status, headers=headers)
    if isinstance(error, HTTPException):
        return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)
    return None


def internal_error() -> Response:
    """A response without details of the error."""
    return JSONResponse({"detail": "Internal Server Error"}, 500)


def _invalid_body(error: InvalidBody) -> Response:
    body = _encode(error.problems)
    if len(body) > _MAX_PROBLEM_BYTES:
        body = _encode([_abridged(one) for one in error.problems])
    return Response(body, 422, media_type="application/json")


def _abridged(one: Mapping[str, Any]) -> dict[str, Any]:
    """*one* without the given value; names and texts from the caller are truncated."""
    loc = [part[:_MAX_TEXT] if isinstance(part, str) else part for part in one["loc"]]
    return problem(one["type"], loc, one["msg"][:_MAX_TEXT])


def _encode(problems: list[dict[str, Any]]) -> bytes:
    """*problems* as JSON. Given values may be NaN or huge integers, which pydantic reads and json refuses."""
    return to_json({"detail": problems}, inf_nan_mode="strings")
