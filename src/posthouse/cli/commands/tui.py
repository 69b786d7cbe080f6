"""`tui classify`: what one captured screen means. `tui check`: whether all captures are read as people do."""

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

#: A screen of any size is far below it.
MAX_BYTES = 4 * 1024 * 1024
_STDIN = "-"


class NoCapture(NotFound):
    """There is no such file."""

    code = "no_capture"


class TooLarge(InvalidInput):
    """It is no capture of a screen."""

    code = "too_large"


def cursor(text: str) -> tuple[int, int]:
    """The type of an option that says where the cursor stands: `X,Y`, from 0."""
    x, comma, y = text.partition(",")
    if not comma or not x.strip().isdigit() or not y.strip().isdigit():
        raise ArgumentTypeError(f"{text!r} is no place: give column and row from 0, for example 2,14")
    return int(x), int(y)


def classify_arguments(parser: Parser) -> None:
    parser.add_argument("--tool", required=True, choices=tools.NAMES, help="whose screen it is")
    parser.add_argument(
        "--ansi", required=True, metavar="FILE", help="what `tmux capture-pane -p -e` printed; - is stdin"
    )
    parser.add_argument(
        "--title", default="", metavar="TEXT", help="the pane's title; without it, the screen decides"
    )
    parser.add_argument("--cursor", type=cursor, metavar="X,Y", help="where the cursor stands, from 0")
    parser.add_argument("--dead", action="store_true", help="the program has ended")
    parser.add_argument("--tool-version", metavar="V", help="the CLI's version (the newest pack)")


def classify(call: Call) -> int:
    """Print what the screen means. It is JSON in every style."""
    asked = call.arguments
    screen = captures.screen_of(_text(asked.ansi), title=asked.title, cursor=asked.cursor, is_dead=asked.dead)
    call.output.line(encode(told(tools.load(asked.tool).read_surface(screen, asked.tool_version))))
    return 0


def told(surface: Surface) -> dict[str, Any]:
    """*surface* for programs."""
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
        raise NoCapture(f"{name} can't be read: {error.strerror or error}") from error
    if len(content) > MAX_BYTES:
        raise TooLarge(f"{name} is larger than {MAX_BYTES} bytes: a capture is one screen")
    return content.decode(errors="replace")


class Checked(NamedTuple):
    """One capture: what a person read in it, and what the pack reads."""

    tool: str
    name: str
    expected: captures.Words | None
    read: captures.Words

    @property
    def is_right(self) -> bool:
        return self.expected == self.read


def check_arguments(parser: Parser) -> None:
    parser.add_argument("--tool", choices=tools.NAMES, help="only this one's captures")
    parser.add_argument(
        "--captures", type=Path, metavar="FOLDER", help="captures that lie elsewhere (needs --tool)"
    )
    parser.add_argument("--all", action="store_true", help="show also those that are read right")


def check(call: Call) -> int:
    """Show what differs; 1 when something does."""
    found = _checked(call)
    wrong = [each for each in found if not each.is_right]
    value = {"checked": len(found), "wrong": [_difference(each) for each in wrong]}
    shown = found if call.arguments.all else wrong
    rows = [_row(each) for each in shown]
    empty = f"captures read as a person read them: {len(found)}"
    call.output.table(value, ("tool", "capture", "expected", "read"), rows, empty=empty)
    if wrong and not call.output.is_json:
        call.output.line(f"captures read otherwise: {len(wrong)} of {len(found)}")
    return 1 if wrong else 0


def _checked(call: Call) -> list[Checked]:
    asked = call.arguments
    if asked.captures and not asked.tool:
        raise InvalidInput("--captures needs --tool: whose screens are they?")
    if asked.captures and not asked.captures.is_dir():
        raise NoCapture(f"{asked.captures} is no folder of captures")
    which = [asked.tool] if asked.tool else captures.tools()
    return [each for tool in which for each in _of_folder(tool, asked.captures or captures.folder_of(tool))]


def _of_folder(tool: str, folder: Path) -> list[Checked]:
    expected, loaded = captures.expected(folder), tools.load(tool)
    return [
        Checked(
            tool,
            name,
            expected.get(name),
            captures.words_of(loaded.read_surface(captures.screen(folder, name))),
        )
        for name in captures.names(folder)
    ]


def _difference(each: Checked) -> dict[str, Any]:
    return {"tool": each.tool, "capture": each.name, "expected": each.expected, "read": each.read}


def _row(each: Checked) -> list[Cell]:
    """Words that both have are left out where others differ."""
    expected = each.expected or {}
    keys = [key for key in {**expected, **each.read} if expected.get(key) != each.read.get(key)]
    tone: Any = "good" if each.is_right else "bad"
    if each.expected is None:
        return [Cell(each.tool), Cell(each.name), Cell("nobody said"), Cell(_spoken(each.read), tone)]
    shown = keys or list(expected)
    return [
        Cell(each.tool),
        Cell(each.name),
        Cell(_spoken({key: expected.get(key) for key in shown})),
        Cell(_spoken({key: each.read.get(key) for key in shown}), tone),
    ]


def _spoken(words: captures.Words) -> str:
    return " ".join(f"{key}={value!r}" if value is not None else f"no {key}" for key, value in words.items())
