"""Streamed responses: files, whole or by range, and generated content.

A file is served with the length that it has when it is opened; later additions are not included.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar

from starlette.responses import StreamingResponse

from posthouse.errors import InvalidInput, NotFound
from posthouse.support import untrusted_files
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.web.error_responses import ErrorWithHeaders

T = TypeVar("T")

#: Request headers of a route that serves files.
RANGE_HEADERS = {
    "range": "One range: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Several: the whole file.",
    "if-range": "Files have no validators, so with this header the whole file is sent.",
}
_PIECE_BYTES = 64 << 10
_BATCH = 200
_RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")


class RangeBeyondEnd(InvalidInput, ErrorWithHeaders):
    """The requested range begins after the end."""

    code = "range_not_satisfiable"

    def __init__(self, asked: str | None, size: int) -> None:
        super().__init__(f"there are {size} bytes, none of them in {asked!r}")
        self.headers = {"content-range": f"bytes */{size}"}


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes of a file, from *start* up to *stop*."""

    start: int
    stop: int


async def file_response(path: Path, headers: Mapping[str, str]) -> StreamingResponse:
    """The file at *path* as text, or the range that *headers* ask for.

    Raises:
        NotFound: It does not exist, or is not a regular file; code `file_not_found`.
        RangeBeyondEnd: The range begins after the end.
    """
    try:
        file = await asyncio.to_thread(untrusted_files.open_file, path)
    except FileNotFoundError:
        raise NotFound(f"there is no {path.name}", code="file_not_found") from None
    except UnsafeFile as error:
        raise NotFound(f"{path.name} is not served: {error}", code="file_not_found") from error
    try:
        size = os.fstat(file.fileno()).st_size
        part = None if "if-range" in headers else parse_range(headers.get("range"), size)
    except BaseException:
        file.close()
        raise
    served = part or ByteRange(0, size)
    response = StreamingResponse(
        _read(file, served), 200 if part is None else 206, media_type="text/plain; charset=utf-8"
    )
    response.headers["accept-ranges"] = "bytes"
    response.headers["content-length"] = str(served.stop - served.start)
    if part is not None:
        response.headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return response


def parse_range(asked: str | None, size: int) -> ByteRange | None:
    """The range in a `Range` header; None: the whole file, also for a header that can't be parsed. Pure.

    Raises:
        RangeBeyondEnd: It begins after the end.
    """
    match = _RANGE.fullmatch(asked or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), size if not last else min(size, int(last) + 1)
    if last and first and int(last) < int(first):
        return None
    if start >= stop:
        raise RangeBeyondEnd(asked, size)
    return ByteRange(start, stop)


async def in_batches(made: Iterator[T]) -> AsyncIterator[list[T]]:
    """The items of *made* in batches of 200; each batch is produced in a thread."""
    while batch := await asyncio.to_thread(lambda: list(islice(made, _BATCH))):
        yield batch


async def _read(file: BinaryIO, part: ByteRange) -> AsyncIterator[bytes]:
    try:
        await asyncio.to_thread(file.seek, part.start)
        left = part.stop - part.start
        while left and (piece := await asyncio.to_thread(file.read, min(left, _PIECE_BYTES))):
            left -= len(piece)
            yield piece
    finally:
        file.close()
