"""Answers, prompts and tools on the screen."""

import os
import select
import tty
from collections.abc import Iterator

import pytest

from posthouse.tools.scripted import appearance
from posthouse.tools.scripted.page import Page
from posthouse.tools.scripted.painter import Painter
from posthouse.tools.scripted.view import Frame


class Terminal:
    """A pseudo-terminal and what was written to it."""

    def __init__(self) -> None:
        self._primary, self._secondary = os.openpty()
        tty.setraw(self._secondary)
        self.painter = Painter(self._secondary, alternate_screen=False)

    def written(self) -> str:
        """Paint, and return all that reached the terminal since the last time."""
        self.painter.paint(Frame(("live",), (0, 0)), "title")
        return os.read(self._primary, 65536).decode() if self._is_readable() else ""

    def _is_readable(self) -> bool:
        return bool(select.select([self._primary], [], [], 0.2)[0])

    def close(self) -> None:
        os.close(self._primary)
        os.close(self._secondary)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


def test_an_answer_is_finished_line_by_line(terminal: Terminal) -> None:
    """Whole lines scroll up for good; the last one stays live until the end."""
    page = Page(terminal.painter, appearance.PLAIN, banner="banner")
    page.say("one")
    page.say(" two\nthree")
    assert page.tail == "  three"
    written = terminal.written()
    assert "● one two" in written
    assert "three" not in written
    page.end("done")

    assert page.tail == ""
    assert "  three\x1b[K\r\ndone" in terminal.written()


def test_what_a_tool_gives_is_shown_in_part(terminal: Terminal) -> None:
    """A person sees the first lines and how many more there are."""
    page = Page(terminal.painter, appearance.PLAIN, banner="banner")
    page.tool("seq 7")
    page.tool_output("1\n2\n3\n4\n5\n6\n7")
    rows = terminal.written().replace("\x1b[K", "").split("\r\n")

    assert rows[1:8] == ["● Bash(seq 7)", "  ⎿  1", "     2", "     3", "     4", "     5", "     … +2 lines"]


def test_nothing_is_written_when_nothing_changed(terminal: Terminal) -> None:
    """An idle screen costs no byte."""
    Page(terminal.painter, appearance.PLAIN, banner="banner")

    assert "banner" in terminal.written()
    assert terminal.written() == ""


def test_a_row_as_wide_as_the_screen_keeps_its_last_cell(terminal: Terminal) -> None:
    """Erasing behind a full row would erase its end."""
    Page(terminal.painter, appearance.PLAIN, banner="x" * terminal.painter.columns)

    assert "x" * terminal.painter.columns + "\r\n" in terminal.written()
