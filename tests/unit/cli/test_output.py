"""Tables, JSON and colour."""

import io

from posthouse.cli.output import Cell, Output, fields


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


_ROWS = [[Cell("gpu"), Cell("ready", "good"), Cell("x")], [Cell("a-long-name"), Cell("-"), Cell("")]]


def test_a_table_is_aligned_and_has_no_trailing_blanks() -> None:
    """People read columns."""
    stream = io.StringIO()

    Output("plain", stream=stream).table({}, ("name", "state", "y"), _ROWS, empty="none")

    assert stream.getvalue() == ("NAME         STATE  Y\ngpu          ready  x\na-long-name  -\n")


def test_json_shows_the_whole_value_sorted() -> None:
    """Programs get every field, indented by two and sorted, whatever the table leaves out."""
    stream = io.StringIO()

    Output("json", stream=stream).table({"b": 1, "a": ["é"]}, ("name",), [], empty="none")

    assert stream.getvalue() == '{\n  "a": [\n    "é"\n  ],\n  "b": 1\n}\n'


def test_an_empty_table_says_so() -> None:
    """Nothing is never shown as nothing."""
    stream = io.StringIO()

    Output("plain", stream=stream).table({}, ("name",), [], empty="no agents")

    assert stream.getvalue() == "no agents\n"


def test_colour_needs_the_fancy_style_and_a_terminal() -> None:
    """Escapes never reach a pipe or somebody who did not ask."""
    assert Output("fancy", colour=True, stream=_Terminal()).toned("x", "good") == "\x1b[32mx\x1b[0m"
    assert Output("fancy", colour=True, stream=io.StringIO()).toned("x", "good") == "x"
    assert Output("fancy", colour=False, stream=_Terminal()).toned("x", "good") == "x"
    assert Output("plain", colour=True, stream=_Terminal()).toned("x", "good") == "x"


def test_fields_align_their_values() -> None:
    """One thing is shown as names and values."""
    assert fields([("name", "gpu"), ("gateway", "none")]) == "name     gpu\ngateway  none"
