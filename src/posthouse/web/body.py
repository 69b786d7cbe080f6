"""Reads the body of a request: all of it, but neither for ever nor without end."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from posthouse.web.refusals import InvalidBody, problem

MAX_BYTES = 1 << 20
_MAX_SECONDS = 15.0
#: For answers to a body that was not read to its end.
_HANG_UP = {"connection": "close"}


async def read_json(http: Request) -> bytes:
    """The bytes of a JSON body, unparsed.

    Raises:
        HTTPException: 413, 408 or 400 for a body that is too large, too slow, or broken off.
        InvalidBody: There is none, or it says that it is not JSON.
    """
    media_type = http.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise InvalidBody(
            [problem("content_type", ["header", "content-type"], "Send application/json", media_type)]
        )
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            body = await _read(http)
    except TimeoutError:
        raise HTTPException(408, f"The body did not arrive within {_MAX_SECONDS:g} s", _HANG_UP) from None
    except ClientDisconnect:
        raise HTTPException(400, "The body broke off") from None
    if not body:
        raise InvalidBody([problem("missing", ["body"], "Field required")])
    return body


async def _read(http: Request) -> bytes:
    declared = http.headers.get("content-length", "0")
    _check(int(declared) if declared.isdecimal() else 0)
    parts: list[bytes] = []
    size = 0
    async for part in http.stream():
        size += len(part)
        _check(size)
        parts.append(part)
    return b"".join(parts)


def _check(size: int) -> None:
    if size > MAX_BYTES:
        raise HTTPException(413, f"The body is larger than {MAX_BYTES} bytes", _HANG_UP)
