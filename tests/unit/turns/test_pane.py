"""Writing to a terminal that may not read."""

import os
from collections.abc import Iterator

import pytest

from posthouse.turns.pane import PaneOutput


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


def read_all(descriptor: int) -> bytes:
    os.set_blocking(descriptor, False)
    found = b""
    while True:
        try:
            found += os.read(descriptor, 1 << 20)
        except BlockingIOError:
            return found


def test_a_terminal_that_reads_gets_everything(pipe: tuple[int, int]) -> None:
    """Text that cannot be encoded is shown as far as it can."""
    reader, writer = pipe
    pane = PaneOutput(writer)
    pane.write("höher\n")
    pane.write("\ud800\n")

    pane.close(seconds=1)
    assert os.get_blocking(writer)
    assert read_all(reader) == "höher\n?\n".encode()


def test_a_terminal_that_does_not_read_holds_nobody(pipe: tuple[int, int]) -> None:
    """Writing returns at once; when reading resumes, the order is kept and the gap is told."""
    reader, writer = pipe
    pane = PaneOutput(writer)
    line = "x" * 1023 + "\n"
    for _ in range(1000):
        pane.write(line)

    shown = b""
    while not pane.flush():
        shown += read_all(reader)
    shown += read_all(reader)

    kept, _, gap = shown.rpartition(b"[")
    assert kept == line.encode() * (len(kept) // 1024)
    assert gap == f"{1000 * 1024 - len(kept)} bytes left out]\n".encode()


def test_a_terminal_that_is_gone_is_written_to_in_vain() -> None:
    """A closed pane is no error: the turn goes on."""
    reader, writer = os.pipe()
    os.close(reader)
    pane = PaneOutput(writer)

    pane.write("hello\n")

    assert pane.flush()
    os.close(writer)
