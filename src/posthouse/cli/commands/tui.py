"""`tui classify`: classifies one screen. `tui check`: compares all captures with the expected state."""

import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any, NamedTuple

from posthouse import tools
from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, encode
from posthouse.errors import InvalidInput, NotFound
from posthouse.terminal.screen import Choice, Surface
from posthouse.tools.packs import captures

#: Far above the size of any screen.
MAX_BYTES = 4 * 1024 * 1024
_STDIN = "-"


def cursor(text: str) -> tuple[int, int]:
    """The argparse type of a cursor position: `X,Y`, from 0."""
    x, comma, y = text.partition(",")
    if not comma or not x.strip().isdigit() or not y.strip().isdigit():
        raise ArgumentTypeError(f"invalid position {text!r}: give column and row from 0, for example 2,14")
    return int(x), int(y)


def classify_arguments(parser: Parser) -> None:
    parser.add_argument("--tool", required=True, choices=tools.NAMES, help="the tool that the screen is from")
    parser.add_argument(
        "--ansi", required=True, metavar="FILE", help="the output of `tmux capture-pane -p -e`; - is stdin"
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="the pane's title")
    parser.add_argument("--cursor", type=cursor, metavar="X,Y", help="the cursor's position, from 0")
    parser.add_argument("--dead", action="store_true", help="the program has ended")
    parser.add_argument(
        "--tool-version", metavar="V", help="the CLI's version (default: that of the newest pack)"
    )


def classify(call: Call) -> int:
    """Print the classification of the screen, as JSON in every style."""
    arguments = call.arguments
    screen = captures.parse_screen(
        _text(arguments.ansi), title=arguments.title, cursor=arguments.cursor, is_dead=arguments.dead
    )
    call.output.line(
        encode(surface_json(tools.load(arguments.tool).read_surface(screen, arguments.tool_version)))
    )
    return 0


def surface_json(surface: Surface) -> dict[str, Any]:
    """*surface* as JSON-ready fields."""
    return {
        "state": surface.state,
        "outcome": surface.outcome,
        "error": surface.error_kind,
        "dialog": surface.dialog,
        "choices": [_choice(choice) for choice in surface.choices],
        "draft": surface.composer or None,
        "detail": surface.detail or None,
        "resets": surface.resets,
        "chat_context": surface.chat_context,
        "chat_diagnostic": surface.chat_diagnostic.error_type if surface.chat_diagnostic else None,
        "evidence": list(surface.evidence),
        "pack": surface.pack or None,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "number": choice.number,
        "label": choice.label,
        "selected": choice.is_selected,
        "keys": list(choice.keys),
    }


def _text(name: str) -> str:
    try:
        if name == _STDIN:
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise NotFound(f"{name} can't be read: {error.strerror or error}", code="no_capture") from error
    if len(content) > MAX_BYTES:
        raise InvalidInput(
            f"{name} is larger than {MAX_BYTES} bytes: a capture is one screen", code="too_large"
        )
    return content.decode(errors="replace")


class CheckedCapture(NamedTuple):
    """One capture with its expected state and the pack's classification."""

    tool: str
    name: str
    expected: captures.ExpectedState | None
    read: captures.ExpectedState

    @property
    def is_right(self) -> bool:
        return self.expected == self.read


def check_arguments(parser: Parser) -> None:
    parser.add_argument("--tool", choices=tools.NAMES, help="only the captures of this tool")
    parser.add_argument(
        "--captures", type=Path, metavar="FOLDER", help="another folder of captures (needs --tool)"
    )
    parser.add_argument("--all", action="store_true", help="also show captures that match")


def check(call: Call) -> int:
    """Show the differences; exit code 1 if there are any."""
    found = _checked(call)
    wrong = [each for each in found if not each.is_right]
    value = {"checked": len(found), "wrong": [_difference(each) for each in wrong]}
    shown = found if call.arguments.all else wrong
    rows = [_row(each) for each in shown]
    empty = f"captures classified as expected: {len(found)}"
    call.output.table(value, ("tool", "capture", "expected", "read"), rows, empty=empty)
    if wrong and not call.output.is_json:
        call.output.line(f"captures classified differently: {len(wrong)} of {len(found)}")
    return 1 if wrong else 0


def _checked(call: Call) -> list[CheckedCapture]:
    arguments = call.arguments
    if arguments.captures and not arguments.tool:
        raise InvalidInput("--captures needs --tool")
    if arguments.captures and not arguments.captures.is_dir():
        raise NotFound(f"{arguments.captures} is not a folder of captures", code="no_capture")
    which = [arguments.tool] if arguments.tool else captures.tools()
    return [
        each for tool in which for each in _of_folder(tool, arguments.captures or captures.folder_of(tool))
    ]


def _of_folder(tool: str, folder: Path) -> list[CheckedCapture]:
    expected, loaded = captures.expected(folder), tools.load(tool)
    return [
        CheckedCapture(
            tool,
            name,
            expected.get(name),
            captures.expected_state(loaded.read_surface(captures.screen(folder, name))),
        )
        for name in captures.names(folder)
    ]


def _difference(each: CheckedCapture) -> dict[str, Any]:
    return {"tool": each.tool, "capture": each.name, "expected": each.expected, "read": each.read}


def _row(each: CheckedCapture) -> list[Cell]:
    """A table row; where fields differ, equal ones are left out."""
    expected = each.expected or {}
    keys = [key for key in {**expected, **each.read} if expected.get(key) != each.read.get(key)]
    tone: Any = "good" if each.is_right else "bad"
    if each.expected is None:
        return [
            Cell(each.tool),
            Cell(each.name),
            Cell("no expectation"),
            Cell(_format_words(each.read), tone),
        ]
    shown = keys or list(expected)
    return [
        Cell(each.tool),
        Cell(each.name),
        Cell(_format_words({key: expected.get(key) for key in shown})),
        Cell(_format_words({key: each.read.get(key) for key in shown}), tone),
    ]


def _format_words(words: captures.ExpectedState) -> str:
    return " ".join(f"{key}={value!r}" if value is not None else f"no {key}" for key, value in words.items())
