"""Answers of any length, sent piece by piece: files, whole or in part, and what is made as it goes.

A file has the length that it has when it is asked for; what is added meanwhile comes with the next answer.
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
from posthouse.web.error_responses import HeadedRefusal

T = TypeVar("T")

#: Headers that a route of files hears.
RANGE_HEADERS = {
    "range": "Which part: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Several are answered with the whole.",
    "if-range": "Nothing is known by which it could hold, so with it the whole is sent.",
}
_PIECE_BYTES = 64 << 10
_BATCH = 200
_RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")


class NoSuchFile(NotFound):
    """There is no such file, or not yet."""

    code = "file_not_found"


class RangeBeyondEnd(InvalidInput, HeadedRefusal):
    """The part that was asked for begins after the end."""

    code = "range_not_satisfiable"

    def __init__(self, asked: str | None, size: int) -> None:
        super().__init__(f"there are {size} bytes, none of them in {asked!r}")
        self.headers = {"content-range": f"bytes */{size}"}


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a file, from *start* up to *stop*."""

    start: int
    stop: int


async def file_answer(path: Path, headers: Mapping[str, str]) -> StreamingResponse:
    """The file at *path* as text, or the part of it that *headers* ask for.

    Raises:
        NoSuchFile: It is not there, or not a regular file.
        RangeBeyondEnd: It is shorter than that.
    """
    try:
        file = await asyncio.to_thread(untrusted_files.open_file, path)
    except FileNotFoundError:
        raise NoSuchFile(f"there is no {path.name}") from None
    except UnsafeFile as error:
        raise NoSuchFile(f"{path.name} is not served: {error}") from error
    try:
        size = os.fstat(file.fileno()).st_size
        part = None if "if-range" in headers else part_of(headers.get("range"), size)
    except BaseException:
        file.close()
        raise
    told = part or Part(0, size)
    answer = StreamingResponse(
        _read(file, told), 200 if part is None else 206, media_type="text/plain; charset=utf-8"
    )
    answer.headers["accept-ranges"] = "bytes"
    answer.headers["content-length"] = str(told.stop - told.start)
    if part is not None:
        answer.headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return answer


def part_of(asked: str | None, size: int) -> Part | None:
    """The part that a `Range` header asks for; None: all of it, or nothing that could be understood. Pure.

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
    return Part(start, stop)


async def in_batches(made: Iterator[T]) -> AsyncIterator[list[T]]:
    """What *made* gives, some hundred at a time; each batch is made in a thread."""
    while batch := await asyncio.to_thread(lambda: list(islice(made, _BATCH))):
        yield batch


async def _read(file: BinaryIO, part: Part) -> AsyncIterator[bytes]:
    try:
        await asyncio.to_thread(file.seek, part.start)
        left = part.stop - part.start
        while left and (piece := await asyncio.to_thread(file.read, min(left, _PIECE_BYTES))):
            left -= len(piece)
            yield piece
    finally:
        file.close()
