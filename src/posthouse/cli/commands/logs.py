"""`agents logs`: the events and the log of an agent's gateway."""

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from posthouse.cli import event_lines, turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.contracts import gateway_files as gf
from posthouse.support import untrusted_files
from posthouse.turns.tail import Overlong, Tail

_POLL_SECONDS = 0.2


def logs_arguments(parser: Parser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="follow new lines")
    parser.add_argument(
        "-n",
        "--lines",
        type=int,
        default=50,
        metavar="N",
        help="the number of lines from the end (default: 50)",
    )
    parser.add_argument("--gateway", action="store_true", help="show the gateway's log instead of the events")


def logs(call: Call) -> int:
    """Show the last events or log lines; with -f follow new ones until Ctrl-C."""
    if call.arguments.lines < 0:
        raise UsageError("invalid --lines: must not be negative")
    root = turns.session_of(call.agent()).gateway_root
    path = root / (gf.LOG if call.arguments.gateway else gf.EVENTS)
    raw = call.arguments.gateway or call.output.is_json
    with FollowedFile(path) as source:
        for line in deque(source.lines(), maxlen=call.arguments.lines):
            call.output.line(line if raw else format_line(line))
        while call.arguments.follow:
            time.sleep(_POLL_SECONDS)
            for line in source.lines():
                call.output.line(line if raw else format_line(line))
    return 0


class FollowedFile:
    """The lines of a file that is appended to and may be rotated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tail: Tail | None = None
        self._inode = 0

    def __enter__(self) -> "FollowedFile":
        return self

    def __exit__(self, *_: object) -> None:
        if self._tail is not None:
            self._tail.close()

    def lines(self) -> Iterator[str]:
        """The complete lines since the last call; none if the file does not exist."""
        if self._tail is not None:
            yield from map(_text, self._tail.read())
        if self._was_replaced():
            tail = self._open()
            yield from map(_text, tail.read())

    def _was_replaced(self) -> bool:
        try:
            return self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            return False

    def _open(self) -> Tail:
        if self._tail is not None:
            self._tail.close()
        self._tail = Tail(self._path)
        self._inode = self._path.stat().st_ino
        return self._tail


def _text(line: bytes | Overlong) -> str:
    if isinstance(line, Overlong):
        return f"(a line of {line.length} bytes)"
    return line.decode(errors="replace")


def format_line(line: str) -> str:
    """One event as text; other lines are unchanged."""
    try:
        event = untrusted_files.decode_json(line)
    except ValueError:
        return line
    return event_lines.format_event(event) if isinstance(event, dict) else line
