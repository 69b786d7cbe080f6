"""`agents watch` without a name: all agents in one table that follows them, until Ctrl-C."""

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from posthouse.cli import overview, overview_local, servers
from posthouse.cli.context import Call
from posthouse.cli.overview import Line
from posthouse.cli.overview_server import ServerOverview
from posthouse.clients.server import CoordinationClient
from posthouse.errors import Unavailable
from posthouse.support import clock

#: Ages are told in seconds, so this is how often a table is drawn when nothing happens.
_TICK_SECONDS = 1.0
#: Many changes at once make one table.
_SETTLE_SECONDS = 0.1
_HOME, _END_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_HIDE, _SHOW = "\x1b[?25l\x1b[2J", "\x1b[?25h"

Look = Callable[[], list[Line]]


def watch(call: Call) -> int:
    """Follow all agents: redrawn in place on a terminal, otherwise a line for each change."""
    look, wait, source = _source(call)
    on_terminal = sys.stdout.isatty() and not call.output.is_json
    if on_terminal:
        with _drawing(call):
            for lines, note in _looks(look, wait, source):
                _draw(call, lines, note)
    known: dict[str, Line] = {}
    for lines, _ in _looks(look, wait, source):
        known = _tell_changes(call, known, lines)
    return 0


def _source(call: Call) -> tuple[Look, Callable[[], object], str]:
    """Where the table comes from, how to wait for news of it, and its name for people."""
    client = _client(call)
    if client is None:
        registry = call.wiring.registry
        return (
            lambda: overview_local.look(registry),
            lambda: time.sleep(_TICK_SECONDS),
            f"{registry.root}, looked at every second (no server runs); Ctrl-C ends",
        )
    seen = ServerOverview(client)
    seen.listen()
    return seen.look, lambda: seen.news.wait(_TICK_SECONDS), f"{client.address.url}; Ctrl-C ends"


def _client(call: Call) -> CoordinationClient | None:
    """The server that was asked for, else the one of this machine's runtime root, if it lives."""
    if call.pair_port is not None:
        return call.server()
    there = servers.running(call.wiring.roots.runtime)
    if there is None:
        return None
    client = CoordinationClient(there.api_base_url)
    try:
        client.identify()
    except Unavailable:  # it is just ending
        return None
    return client


def _looks(look: Look, wait: Callable[[], object], source: str) -> Iterator[tuple[list[Line], str]]:
    lines: list[Line] = []
    while True:
        try:
            lines, note = look(), source
        except Unavailable as error:
            note = f"{error}; trying again"
        yield lines, note
        wait()
        time.sleep(_SETTLE_SECONDS)


@contextmanager
def _drawing(call: Call) -> Iterator[None]:
    call.output.control(_HIDE)
    try:
        yield
    finally:
        call.output.control(f"{_SHOW}\n")


def _draw(call: Call, lines: list[Line], note: str) -> None:
    size = shutil.get_terminal_size()
    shown = overview.screen(lines, note, call.output, now=clock.now(), columns=size.columns, rows=size.lines)
    safe = map(call.output.shown, shown)
    call.output.control(_HOME + f"{_END_OF_LINE}\n".join(safe) + _END_OF_LINE + _BELOW)


def _tell_changes(call: Call, known: dict[str, Line], lines: list[Line]) -> dict[str, Line]:
    """Tell of every agent that is new, changed or gone; those that are known now."""
    now = {line.agent_id: line for line in lines}
    at = clock.iso_seconds(clock.now())
    for agent_id, line in now.items():
        if known.get(agent_id) != line:
            _tell(call, at, line, is_gone=False)
    for agent_id in known.keys() - now.keys():
        _tell(call, at, known[agent_id], is_gone=True)
    return now


def _tell(call: Call, at: str, line: Line, *, is_gone: bool) -> None:
    if call.output.is_json:
        told = {**line.value, "at_utc": at, "gone": is_gone}
        call.output.line(json.dumps(told, sort_keys=True, ensure_ascii=False))
    else:
        call.output.line(f"{at[:19].replace('T', ' ')}  {f'{line.name}: gone' if is_gone else line.text}")
