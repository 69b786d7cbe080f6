"""Reads the body of a request, bounded in size and time."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request

from posthouse.web.connection import REQUEST_COMPLETE
from posthouse.web.error_responses import InvalidBody, problem

MAX_BYTES = 1 << 20
_MAX_SECONDS = 15.0
#: For responses to a body that was not read completely.
_HANG_UP = {"connection": "close"}


async def read_json(http: Request) -> bytes:
    """The bytes of a JSON body, unparsed.

    Raises:
        HTTPException: 413, 408 or 400 for a body that is too large, too slow, or incomplete.
        InvalidBody: It is missing, or its content type is not JSON.
    """
    media_type = _header(http, b"content-type", "application/json").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise InvalidBody(
            [problem("content_type", ["header", "content-type"], "Send application/json", media_type)]
        )
    declared = _header(http, b"content-length", "0")
    _check(int(declared) if declared.isdecimal() else 0)
    if not (body := await _read_in_time(http)):
        raise InvalidBody([problem("missing", ["body"], "Field required")])
    return body


async def _read_in_time(http: Request) -> bytes:
    if REQUEST_COMPLETE in http.scope.get("extensions", ()):
        return await _read(http)
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            return await _read(http)
    except TimeoutError:
        raise HTTPException(408, f"The body did not arrive within {_MAX_SECONDS:g} s", _HANG_UP) from None


async def _read(http: Request) -> bytes:
    body, is_all = bytearray(), False
    while not is_all:
        message = await http.receive()
        if message["type"] != "http.request":
            raise HTTPException(400, "The body broke off")
        body += message.get("body", b"")
        _check(len(body))
        is_all = not message.get("more_body", False)
    return bytes(body)


def _header(http: Request, name: bytes, default: str) -> str:
    """The first header of that name."""
    found = (value.decode("latin-1") for given, value in http.scope["headers"] if given == name)
    return next(found, default)


def _check(size: int) -> None:
    if size > MAX_BYTES:
        raise HTTPException(413, f"The body is larger than {MAX_BYTES} bytes", _HANG_UP)
