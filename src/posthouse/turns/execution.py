"""Carrying out one ordered turn: start its program, follow it, write how it ended.

This process may be killed at any point. Before the program's pid is on disk the program does not run; after
that it needs nobody: its output goes straight to its files, and whoever reads the folder can judge.
"""

import os
import select
import sys
import time
from pathlib import Path

from posthouse import tools
from posthouse.contracts import names
from posthouse.errors import PosthouseError
from posthouse.support import crashpoints, processes
from posthouse.terminal import variable_files
from posthouse.turns import child, process_stop
from posthouse.turns.event_decoding import Narrator
from posthouse.turns.folder import Folder, Run
from posthouse.turns.output_follower import Telling
from posthouse.turns.pane import Pane
from posthouse.turns.render import Renderer
from posthouse.turns.stop_conditions import Signals, Watch

_CANNOT_START = 1
_NOT_MINE = 3
_SHORTEST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.25
_LAST_WORDS_SECONDS = 1.0


def main(arguments: list[str]) -> int:
    """The bridge's process: carry out the turn in the folder that *arguments* name.

    A file that they name as well has variables for the turn's program.
    """
    try:
        for variables_file in arguments[1:]:
            os.environ.update(variable_files.read(Path(variables_file)))
    except PosthouseError as error:
        sys.stderr.write(f"posthouse: cannot carry out the turn: {error}\n")
        return _CANNOT_START
    crashpoints.arm(os.environ.pop(names.CRASH_AT, None))
    return carry(Folder(Path(arguments[0])), Pane(sys.stdout.fileno()))


def carry(folder: Folder, pane: Pane) -> int:
    """Run the turn in *folder* unless it was taken before. 0: it was carried out, whatever came of it."""
    order = folder.read_order()
    program = child.fork(order, folder)
    signals = Signals()  # after the fork: the program starts with the signals it expects
    run = Run(boot_id=processes.boot_id(), runner=_myself(), child=program.process)
    if not folder.claim(run):
        program.drop()
        pane.write(f"turn {order.turn_id} was taken before; nothing was run\n")
        pane.close(seconds=_LAST_WORDS_SECONDS)
        return _NOT_MINE
    folder.write_process(run)
    program.go()
    crashpoints.reach("let the program go")
    renderer = Renderer(order.style, order.detail)
    telling = Telling(folder, Narrator(tools.load_decoder(order.tool), order.turn_index), renderer, pane)
    _follow(run, telling, Watch(folder, order, run, signals, now=time.monotonic()))
    code = program.reap()
    if folder.interrupt.exists():
        # A command that the program had put into a session of its own heard none of the signals.
        process_stop.end_leftovers(run, order.turn_id)
    folder.write_exitcode(code)
    pane.write(renderer.note(f"turn {order.turn_index} ended, exit code {code}"))
    pane.close(seconds=_LAST_WORDS_SECONDS)
    return 0


def _myself() -> processes.Process:
    process = processes.identify(os.getpid())
    if process is None:
        raise RuntimeError("/proc is not mounted: a turn cannot be followed without it")
    return process


def _follow(run: Run, telling: Telling, watch: Watch) -> None:
    """Stay with the program to its end, then tell what is left."""
    ending = os.pidfd_open(run.child.pid)
    pause = _SHORTEST_PAUSE_SECONDS
    while not select.select([ending], [], [], watch.pause(time.monotonic(), pause))[0]:
        was_any = telling.advance()
        watch.check(time.monotonic())
        pause = _SHORTEST_PAUSE_SECONDS if was_any else min(pause * 2, _LONGEST_PAUSE_SECONDS)
    telling.finish()
    os.close(ending)
