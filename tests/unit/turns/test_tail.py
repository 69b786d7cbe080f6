"""Lines of growing files."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from posthouse.turns.tail import Lines, Overlong, Tail, lines_of


@given(st.lists(st.binary(max_size=40)))
def test_chunks_never_change_the_lines(chunks: list[bytes]) -> None:
    """However the bytes arrive, the lines are those of the whole."""
    lines = Lines()

    got = [line for chunk in chunks for line in lines.feed(chunk)] + list(lines.last())

    whole = b"".join(chunks).split(b"\n")
    assert got == (whole if whole[-1] else whole[:-1])


def test_a_line_that_is_too_long_is_measured_and_dropped() -> None:
    """Memory is bounded by one line; the next line is read as usual."""
    lines = Lines(max_bytes=4)

    got = [line for chunk in (b"abc", b"def", b"gh\nok\nlong", b"er") for line in lines.feed(chunk)]

    assert [*got, *lines.last()] == [Overlong(8), b"ok", Overlong(6)]


def test_a_file_is_followed_as_it_grows(tmp_path: Path) -> None:
    """Each reading gives what became whole since the last; the end gives what never did."""
    path = tmp_path / "grows"
    path.write_bytes(b"one\ntw")
    tail = Tail(path)
    first = list(tail.read())
    with path.open("ab") as stream:
        stream.write(b"o\nthree")

    assert (first, list(tail.read()), list(tail.finish())) == ([b"one"], [b"two"], [b"three"])
    tail.close()


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    """A program that never wrote is no error."""
    assert list(lines_of(tmp_path / "absent")) == []
