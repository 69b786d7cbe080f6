"""`tui record`: save a screen of a live agent, with the state that a person sees in it."""

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


def record_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--as", dest="name", required=True, metavar="CAPTURE", help="the capture's name, e.g. menu-theme-80"
    )
    parser.add_argument("--state", choices=STATES, help="the state you see (default: ask)")
    parser.add_argument(
        "--outcome", choices=OUTCOMES, default="none", help="how the last turn ended (default: none)"
    )
    parser.add_argument("--error", choices=get_args(ErrorKind), help="the kind of error shown")
    parser.add_argument("--dialog", metavar="NAME", help="the dialog shown")
    parser.add_argument(
        "--choice", action="append", metavar="LABEL", help="a choice of the dialog; repeat for each"
    )
    parser.add_argument("--draft", metavar="TEXT", help="the text in the composer")
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="the target folder (default: the tool's captures)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing capture")
    parser.epilog = (
        "The capture contains everything the terminal shows: check it before you share it.\n"
        "`posthouse tui check` compares your reading with the pack's."
    )


def record(call: Call) -> int:
    """Save the capture, and show whether the pack classifies it the same way."""
    arguments = call.arguments
    if not _NAME.match(arguments.name):
        raise UsageError(f"invalid capture name {arguments.name!r}: use a-z, 0-9 and -")
    agent = call.agent()
    found = turns.session_of(agent)
    tool = tools.load(found.manifest.tool)
    folder = arguments.into or captures.folder_of(tool.name)
    if arguments.name in captures.names(folder) and not arguments.force:
        raise Conflict(
            f"capture {arguments.name!r} already exists in {folder}; --force replaces it",
            code="capture_exists",
        )
    pane, capture = terminal.capture_raw(
        found.tmux, terminal.agent_pane(found.tmux, found.tmux_session_name).pane_id
    )
    words = _expected(call)
    _add(folder, arguments.name, capture, _metadata(pane, tool.version()), words)
    read = captures.expected_state(tool.read_surface(captures.screen(folder, arguments.name)))
    value = {
        "folder": str(folder),
        "capture": arguments.name,
        "expected": words,
        "read": read,
        "same": words == read,
    }
    same = "and the pack agrees" if words == read else f"but the pack reads {dict(read)}"
    call.output.result(value, f"{folder / arguments.name}.ansi: {words['state']}, {same}")
    return 0


def _expected(call: Call) -> dict[str, Any]:
    arguments = call.arguments
    given = {
        "state": arguments.state or _ask_state(call),
        "outcome": arguments.outcome if arguments.outcome != "none" else None,
        "error": arguments.error,
        "dialog": arguments.dialog,
        "draft": arguments.draft,
        "choices": arguments.choice,
    }
    return {key: value for key, value in given.items() if value is not None}


def _ask_state(call: Call) -> str:
    """Ask for the state that the person sees."""
    if call.output.is_json or not sys.stdin.isatty():
        raise UsageError(f"--state is required without a terminal: {', '.join(STATES)}")
    while True:
        answer = input(f"Which state do you see ({', '.join(STATES)})? ").strip()
        if answer in STATES:
            return answer


def _metadata(pane: Pane, version: str | None) -> captures.CaptureMetadata:
    return captures.CaptureMetadata(
        title=pane.title,
        cursor=pane.cursor,
        is_dead=pane.dead,
        columns=pane.columns,
        rows=pane.rows,
        version=version or "",
    )


def _add(
    folder: Path, name: str, capture: str, beside: captures.CaptureMetadata, words: captures.ExpectedState
) -> None:
    try:
        captures.add(folder, name, capture, beside, words)
    except OSError as error:
        raise Conflict(
            f"{folder} is not writable ({error.strerror}); choose another one with --into",
            code="not_writable",
        ) from error
