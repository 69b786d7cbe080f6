"""Parts of files, as they are asked for and as they are sent."""

import asyncio
import os
from pathlib import Path

import pytest

from posthouse.errors import NotFound
from posthouse.web import error_responses, file_response
from posthouse.web.file_response import ByteRange, RangeBeyondEnd


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        (None, None),
        ("bytes=0-0", ByteRange(0, 1)),
        ("bytes=2-5", ByteRange(2, 6)),
        ("bytes = 2 - 5 ", ByteRange(2, 6)),
        ("bytes=8-100", ByteRange(8, 10)),
        ("bytes=3-", ByteRange(3, 10)),
        ("bytes=-4", ByteRange(6, 10)),
        ("bytes=-40", ByteRange(0, 10)),
        ("bytes=5-2", None),
        ("bytes=0-1,3-4", None),
        ("bytes=-", None),
        ("lines=1-2", None),
        ("bytes=a-b", None),
        (f"bytes={'9' * 5000}-", None),
    ],
)
def test_a_range_is_a_part_of_the_file(asked: str | None, part: ByteRange | None) -> None:
    """What can't be understood is overlooked."""
    assert file_response.parse_range(asked, 10) == part


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-20", "bytes=-0"])
def test_a_part_after_the_end_is_refused(asked: str) -> None:
    """Nothing of it is there."""
    with pytest.raises(RangeBeyondEnd) as refused:
        file_response.parse_range(asked, 10)

    answer = error_responses.refusal_of(refused.value, {RangeBeyondEnd: 416})
    assert answer is not None
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */10")


def test_a_file_that_grows_is_sent_as_long_as_it_was(tmp_path: Path) -> None:
    """Its length is told first, so nothing is added to it."""
    path = tmp_path / "stdout.jsonl"
    path.write_bytes(b"x" * 100_000)

    async def sent() -> tuple[str, int]:
        answer = await file_response.file_response(path, {})
        path.write_bytes(b"x" * 200_000)
        body = b"".join([bytes(piece) async for piece in answer.body_iterator])  # type: ignore[arg-type]
        return answer.headers["content-length"], len(body)

    assert asyncio.run(sent()) == ("100000", 100_000)


def test_only_regular_files_are_served(tmp_path: Path) -> None:
    """A link would show any file of the user's, and a named pipe would never answer."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")

    for name in ("link", "pipe", "none"):
        with pytest.raises(NotFound, check=lambda error: error.code == "file_not_found"):
            asyncio.run(file_response.file_response(tmp_path / name, {}))
