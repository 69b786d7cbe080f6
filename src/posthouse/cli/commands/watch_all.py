"""`agents watch` without a name: a live table of all agents, until Ctrl-C."""

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from posthouse.cli import overview, overview_local, servers
from posthouse.cli.context import Call
from posthouse.cli.overview import AgentLine
from posthouse.cli.overview_server import ServerOverview
from posthouse.clients.server import ServerClient
from posthouse.errors import Unavailable
from posthouse.support import clock

#: Redraw interval without changes: ages are shown in seconds.
_TICK_SECONDS = 1.0
#: Debounce: changes within this time are drawn together.
_SETTLE_SECONDS = 0.1
_HOME, _END_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_HIDE, _SHOW = "\x1b[?25l\x1b[2J", "\x1b[?25h"

Refresh = Callable[[], list[AgentLine]]


def watch(call: Call) -> int:
    """Follow all agents: redrawn in place on a terminal, otherwise a line for each change."""
    refresh, wait, source = _source(call)
    on_terminal = sys.stdout.isatty() and not call.output.is_json
    if on_terminal:
        with _screen(call):
            for lines, note in _refreshes(refresh, wait, source):
                _draw(call, lines, note)
    known: dict[str, AgentLine] = {}
    for lines, _ in _refreshes(refresh, wait, source):
        known = _write_changes(call, known, lines)
    return 0


def _source(call: Call) -> tuple[Refresh, Callable[[], object], str]:
    """How to get the table, how to wait for changes, and a description of the source."""
    client = _client(call)
    if client is None:
        registry = call.wiring.registry
        return (
            lambda: overview_local.read(registry),
            lambda: time.sleep(_TICK_SECONDS),
            f"{registry.root}, polled every second (no server runs); Ctrl-C ends",
        )
    server_overview = ServerOverview(client)
    server_overview.start()
    return (
        server_overview.refresh,
        lambda: server_overview.changed.wait(_TICK_SECONDS),
        f"{client.address.url}; Ctrl-C ends",
    )


def _client(call: Call) -> ServerClient | None:
    """The server of the given port, else the live one of this machine's runtime root, or None."""
    if call.pair_port is not None:
        return call.server()
    instance = servers.running(call.wiring.roots.runtime)
    if instance is None:
        return None
    client = ServerClient(instance.api_base_url)
    try:
        client.identify()
    except Unavailable:  # it is ending
        return None
    return client


def _refreshes(
    refresh: Refresh, wait: Callable[[], object], source: str
) -> Iterator[tuple[list[AgentLine], str]]:
    lines: list[AgentLine] = []
    while True:
        try:
            lines, note = refresh(), source
        except Unavailable as error:
            note = f"{error}; trying again"
        yield lines, note
        wait()
        time.sleep(_SETTLE_SECONDS)


@contextmanager
def _screen(call: Call) -> Iterator[None]:
    call.output.write_raw(_HIDE)
    try:
        yield
    finally:
        call.output.write_raw(f"{_SHOW}\n")


def _draw(call: Call, lines: list[AgentLine], note: str) -> None:
    size = shutil.get_terminal_size()
    shown = overview.screen(lines, note, call.output, now=clock.now(), columns=size.columns, rows=size.lines)
    safe = map(call.output.escaped, shown)
    call.output.write_raw(_HOME + f"{_END_OF_LINE}\n".join(safe) + _END_OF_LINE + _BELOW)


def _write_changes(call: Call, known: dict[str, AgentLine], lines: list[AgentLine]) -> dict[str, AgentLine]:
    """Write a line for each new, changed or removed agent; returns the current ones."""
    now = {line.agent_id: line for line in lines}
    at = clock.iso_seconds(clock.now())
    for agent_id, line in now.items():
        if known.get(agent_id) != line:
            _write_change(call, at, line, is_gone=False)
    for agent_id in known.keys() - now.keys():
        _write_change(call, at, known[agent_id], is_gone=True)
    return now


def _write_change(call: Call, at: str, line: AgentLine, *, is_gone: bool) -> None:
    if call.output.is_json:
        value = {**line.value, "at_utc": at, "gone": is_gone}
        call.output.line(json.dumps(value, sort_keys=True, ensure_ascii=False))
    else:
        call.output.line(f"{at[:19].replace('T', ' ')}  {f'{line.name}: gone' if is_gone else line.text}")
