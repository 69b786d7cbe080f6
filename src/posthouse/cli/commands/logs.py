"""`agents logs`: what the gateway wrote down about this agent."""

import json
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from posthouse.cli import turnwork
from posthouse.cli.call import Call
from posthouse.cli.failure import UsageError
from posthouse.cli.options import Parser
from posthouse.contracts import gateway_files as gf

_LOOK_SECONDS = 0.2
#: Events have no common time field; this is the one that says when it happened.
_TIMES = ("accepted_at_utc", "submitted_at_utc", "started_at_utc", "finished_at_utc", "coalesced_at_utc")


def logs_arguments(parser: Parser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="stay and show what is added")
    parser.add_argument("-n", "--lines", type=int, default=50, metavar="N", help="how many from the end (50)")
    parser.add_argument("--gateway", action="store_true", help="the gateway's own log instead of the events")


def logs(call: Call) -> int:
    """Show the last events (or log lines), and with -f those to come until Ctrl-C."""
    if call.arguments.lines < 0:
        raise UsageError("--lines can't be negative")
    root = turnwork.session_of(call.agent()).gateway_root
    path = root / (gf.LOG if call.arguments.gateway else gf.EVENTS)
    raw = call.arguments.gateway or call.output.is_json
    source = _Growing(path)
    for line in deque(source.lines(), maxlen=call.arguments.lines):
        call.output.line(line if raw else _told(line))
    while call.arguments.follow:
        time.sleep(_LOOK_SECONDS)
        for line in source.lines():
            call.output.line(line if raw else _told(line))
    return 0


class _Growing:
    """A text file that is appended to, and that somebody may rotate away."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: TextIO | None = None
        self._inode = 0
        self._partial = ""

    def lines(self) -> Iterator[str]:
        """The whole lines since the last call; none while the file is not there."""
        if self._stream is not None:
            yield from self._read(self._stream)
        if self._was_replaced():
            self._open()
            if self._stream is not None:
                yield from self._read(self._stream)

    def _read(self, stream: TextIO) -> Iterator[str]:
        for piece in stream:
            self._partial += piece
            if self._partial.endswith("\n"):
                line, self._partial = self._partial[:-1], ""
                yield line

    def _was_replaced(self) -> bool:
        try:
            return self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            return False

    def _open(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = self._path.open(encoding="utf-8", errors="replace")
        self._inode = self._path.stat().st_ino
        self._partial = ""


def _told(line: str) -> str:
    """One event as `time  name  key=value …`; a line that is no event stays as it is."""
    try:
        event = json.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict):
        return line
    moment = next((str(event.pop(key)) for key in _TIMES if event.get(key)), "")
    name = str(event.pop("kind", "event"))
    rest = " ".join(f"{key}={value}" for key, value in sorted(event.items()) if value not in (None, ""))
    return "  ".join(part for part in (moment[:19].replace("T", " "), name, rest) if part)
