"""Tables, JSON and colour."""

import io
import json
import re
from pathlib import Path

import posthouse.cli
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
    assert Output("fancy", colour=True, stream=_Terminal()).coloured("x", "good") == "\x1b[32mx\x1b[0m"
    assert Output("fancy", colour=True, stream=io.StringIO()).coloured("x", "good") == "x"
    assert Output("fancy", colour=False, stream=_Terminal()).coloured("x", "good") == "x"
    assert Output("plain", colour=True, stream=_Terminal()).coloured("x", "good") == "x"


def test_fields_align_their_values() -> None:
    """One thing is shown as names and values."""
    assert fields([("name", "gpu"), ("gateway", "none")]) == "name     gpu\ngateway  none"


_HOSTILE = "a\x1b]52;c;eA==\x07\x9b\u202eb"
_SAFE = "a\\x1b]52;c;eA==\\x07\\x9b\\u202eb"


def test_a_terminal_gets_no_control_character_of_a_text() -> None:
    """Lines and tables write them out, and columns are aligned by what is shown."""
    stream = _Terminal()
    output = Output("plain", stream=stream)

    output.line(_HOSTILE)
    output.table({}, ("name", "y"), [[Cell(_HOSTILE), Cell("x")]], empty="none")

    assert stream.getvalue().splitlines() == [_SAFE, f"{'NAME':<{len(_SAFE)}}  Y", f"{_SAFE}  x"]


def test_our_own_colours_stay_on_a_terminal() -> None:
    """What `toned` adds is kept, what it encloses is made safe."""
    stream = _Terminal()
    output = Output("fancy", colour=True, stream=stream)

    output.line(output.coloured(_HOSTILE, "good"))

    assert stream.getvalue() == f"\x1b[32m{_SAFE}\x1b[0m\n"


def test_a_pipe_gets_the_text_exactly() -> None:
    """Programs read the very answer."""
    stream = io.StringIO()

    Output("plain", stream=stream).line(_HOSTILE)

    assert stream.getvalue() == f"{_HOSTILE}\n"


def test_json_escapes_control_and_bidi_characters_everywhere() -> None:
    """JSON of ours and JSON lines of others alike; their value is the same."""
    stream = io.StringIO()
    output = Output("json", stream=stream)

    output.result({"text": _HOSTILE}, "")
    output.line(json.dumps(_HOSTILE, ensure_ascii=False))

    assert "\x9b" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()
    value, line = stream.getvalue().rsplit("\n", 2)[:2]
    assert (json.loads(value), json.loads(line)) == ({"text": _HOSTILE}, _HOSTILE)


def test_output_of_a_program_is_copied_by_byte_except_to_a_terminal() -> None:
    """A character that two pieces share is whole; a byte that is no UTF-8 is written out."""
    terminal, pipe = _Terminal(), io.TextIOWrapper(io.BytesIO())
    pieces = [b"\x1b[2J\xc3", b"\xa9\xff\n"]

    Output("plain", stream=terminal).copy(pieces)
    Output("plain", stream=pipe).copy(pieces)

    assert terminal.getvalue() == "\\x1b[2Jé\\xff\n"
    assert pipe.buffer.getvalue() == b"".join(pieces)


def test_everything_that_is_printed_goes_through_the_output() -> None:
    """No other module of the command line writes to stdout or stderr by itself."""
    writes = re.compile(r"\bprint\(|\bstd(?:out|err)(?:\.buffer)?\.write\(|print_exc|copyfileobj\(")
    root = Path(posthouse.cli.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if writes.search(path.read_text())}

    # The version before any import, and a constant question for the prompt.
    assert found == {"output.py", "main.py", "prompts.py"}
