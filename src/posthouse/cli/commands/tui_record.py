"""`tui record`: keep a screen of a live agent, with the words that a person reads in it."""

import re
import sys
from pathlib import Path
from typing import Any, get_args

from posthouse import tools
from posthouse.cli import turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.errors import Conflict
from posthouse.terminal import session as terminal
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import ErrorKind, Outcome, SurfaceState
from posthouse.tools.packs import captures

STATES: tuple[str, ...] = get_args(SurfaceState)
OUTCOMES: tuple[str, ...] = get_args(Outcome)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")


class CaptureExists(Conflict):
    """A capture of that name is there already."""

    code = "capture_exists"


class NotWritable(Conflict):
    """The captures can't be put there."""

    code = "not_writable"


def record_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--as", dest="name", required=True, metavar="CAPTURE", help="its name, e.g. menu-theme-80"
    )
    parser.add_argument(
        "--state", choices=STATES, help="what a person reads in it; asked when it is left out"
    )
    parser.add_argument("--outcome", choices=OUTCOMES, default="none", help="how the last turn ended (none)")
    parser.add_argument("--error", choices=get_args(ErrorKind), help="what kind of error that was")
    parser.add_argument("--dialog", metavar="NAME", help="which dialog stands there")
    parser.add_argument("--choice", action="append", metavar="LABEL", help="what it offers, one by one")
    parser.add_argument("--draft", metavar="TEXT", help="what stands in the composer")
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="where it goes (beside the tool's others)"
    )
    parser.add_argument("--force", action="store_true", help="replace a capture of that name")
    parser.epilog = (
        "The capture holds all that the terminal shows: look at it before you give it to others.\n"
        "The words are yours, not the pack's: `posthouse tui check` compares the two."
    )


def record(call: Call) -> int:
    """Put the capture there, and say whether the pack reads it the same way."""
    asked = call.arguments
    if not _NAME.match(asked.name):
        raise UsageError(f"{asked.name!r} is no name for a capture: use a-z, 0-9 and -")
    agent = call.agent()
    found = turns.session_of(agent)
    tool = tools.load(found.manifest.tool)
    folder = asked.into or captures.folder_of(tool.name)
    if asked.name in captures.names(folder) and not asked.force:
        raise CaptureExists(f"there is a capture {asked.name!r} in {folder}; --force replaces it")
    pane, capture = terminal.recorded(
        found.tmux, terminal.agent_pane(found.tmux, found.tmux_session_name).pane_id
    )
    words = _words(call)
    _add(folder, asked.name, capture, _beside(pane, tool.version()), words)
    read = captures.words_of(tool.read_surface(captures.screen(folder, asked.name)))
    value = {
        "folder": str(folder),
        "capture": asked.name,
        "expected": words,
        "read": read,
        "same": words == read,
    }
    same = "and the pack reads it so" if words == read else f"but the pack reads {dict(read)}"
    call.output.result(value, f"{folder / asked.name}.ansi: {words['state']}, {same}")
    return 0


def _words(call: Call) -> dict[str, Any]:
    asked = call.arguments
    said = {
        "state": asked.state or _ask(call),
        "outcome": asked.outcome if asked.outcome != "none" else None,
        "error": asked.error,
        "dialog": asked.dialog,
        "draft": asked.draft,
        "choices": asked.choice,
    }
    return {key: value for key, value in said.items() if value is not None}


def _ask(call: Call) -> str:
    """The state that a person reads, in one of its words."""
    if call.output.is_json or not sys.stdin.isatty():
        raise UsageError(f"--state is needed where nobody can be asked: {', '.join(STATES)}")
    while True:
        answer = input(f"Which state do you see ({', '.join(STATES)})? ").strip()
        if answer in STATES:
            return answer


def _beside(pane: Pane, version: str | None) -> captures.Beside:
    return captures.Beside(
        title=pane.title,
        cursor=pane.cursor,
        is_dead=pane.dead,
        columns=pane.columns,
        rows=pane.rows,
        version=version or "",
    )


def _add(folder: Path, name: str, capture: str, beside: captures.Beside, words: captures.Words) -> None:
    try:
        captures.add(folder, name, capture, beside, words)
    except OSError as error:
        raise NotWritable(
            f"{folder} can't be written ({error.strerror}); name another one with --into"
        ) from error
