"""Captures on disk."""

from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.terminal.screen import Screen
from posthouse.tools.packs import captures
from posthouse.tools.packs.captures import CaptureMetadata


def test_a_capture_comes_back_as_it_was_added(tmp_path: Path) -> None:
    """Rows, title with commas, cursor; and the words beside those of the others."""
    beside = CaptureMetadata(title="✳ one, two", cursor=(3, 1), columns=80, rows=2, version="2.1.197")

    captures.add(tmp_path / "new", "one", "\x1b[1mbold\n  text\n", beside, {"state": "ready"})
    captures.add(
        tmp_path / "new",
        "two",
        "",
        CaptureMetadata(title="", cursor=(0, 0), is_dead=True),
        {"state": "exited"},
    )

    assert captures.names(tmp_path / "new") == ["one", "two"]
    assert captures.expected(tmp_path / "new") == {"one": {"state": "ready"}, "two": {"state": "exited"}}
    assert captures.screen(tmp_path / "new", "one") == Screen(
        rows=("\x1b[1mbold", "\x1b[1m  text"), title="✳ one, two", cursor=(3, 1)
    )
    assert captures.screen(tmp_path / "new", "two").dead


def test_the_form_in_which_screens_were_given_to_us_is_read(tmp_path: Path) -> None:
    """Without size and version."""
    (tmp_path / "a.ansi").write_text("text\n")
    (tmp_path / "a.meta").write_text(
        "cursor_x,cursor_y,cursor_flag,alternate_on,pane_title,pane_current_command,pane_dead,history_size,pane_pid\n"
        "1,2,0,0,a, b,claude,1,0,7\n"
    )

    assert captures.screen(tmp_path, "a") == Screen(rows=("text",), title="a, b", cursor=(1, 2), dead=True)


@pytest.mark.parametrize("meta", ["", "cursor_x\n", "nothing\n1\n", "pane_title,cursor_x\n1\n"])
def test_a_capture_that_is_none_is_named(tmp_path: Path, meta: str) -> None:
    """The message says which one."""
    (tmp_path / "a.ansi").write_text("text\n")
    (tmp_path / "a.meta").write_text(meta)

    with pytest.raises(InvalidInput, match="capture 'a' in"):
        captures.screen(tmp_path, "a")


@pytest.mark.parametrize("words", ["[]", "{", "\xff"])
def test_words_that_can_not_be_read_are_said(tmp_path: Path, words: str) -> None:
    """A broken file is not taken for an empty one."""
    (tmp_path / captures.EXPECTED).write_text(words)

    with pytest.raises(InvalidInput, match=captures.EXPECTED):
        captures.expected(tmp_path)
