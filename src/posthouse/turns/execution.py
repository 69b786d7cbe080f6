"""The bridge: runs one turn's program, decodes its output and records how it ended.

This process may be killed at any point. The program starts only after its pid is on disk; from then on it
does not need the bridge: its output goes directly to files, and readers derive the outcome from the folder.
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
from posthouse.turns.event_decoding import EventDecoder
from posthouse.turns.folder import Folder, Run
from posthouse.turns.output_follower import OutputFollower
from posthouse.turns.pane import PaneOutput
from posthouse.turns.render import Renderer
from posthouse.turns.stop_conditions import StopMonitor, StopSignals

_CANNOT_START = 1
_ALREADY_CLAIMED = 3
_MIN_PAUSE_SECONDS = 0.01
_MAX_PAUSE_SECONDS = 0.25
_FLUSH_SECONDS = 1.0


def main(arguments: list[str]) -> int:
    """Run the bridge. *arguments*: the turn folder, and optionally a file with the program's variables."""
    try:
        for variables_file in arguments[1:]:
            os.environ.update(variable_files.read(Path(variables_file)))
    except PosthouseError as error:
        sys.stderr.write(f"posthouse: cannot run the turn: {error}\n")
        return _CANNOT_START
    crashpoints.arm(os.environ.pop(names.CRASH_AT, None))
    return run_turn(Folder(Path(arguments[0])), PaneOutput(sys.stdout.fileno()))


def run_turn(folder: Folder, pane: PaneOutput) -> int:
    """Run the turn in *folder* unless it was claimed before. Returns 0 if it ran, whatever its outcome."""
    order = folder.read_order()
    program = child.fork(order, folder)
    signals = StopSignals()  # after the fork, so that the program starts with default signal handlers
    run = Run(boot_id=processes.boot_id(), runner=_this_process(), child=program.process)
    if not folder.claim(run):
        program.discard()
        pane.write(f"turn {order.turn_id} was taken before; nothing was run\n")
        pane.close(seconds=_FLUSH_SECONDS)
        return _ALREADY_CLAIMED
    folder.write_process(run)
    program.release()
    crashpoints.reach("let the program go")
    renderer = Renderer(order.style, order.detail)
    follower = OutputFollower(
        folder, EventDecoder(tools.load_decoder(order.tool), order.turn_index), renderer, pane
    )
    _follow(run, follower, StopMonitor(folder, order, run, signals, now=time.monotonic()))
    code = program.reap()
    if folder.interrupt.exists():
        # Commands in sessions of their own did not get the signals.
        process_stop.end_leftovers(run, order.turn_id)
    folder.write_exitcode(code)
    pane.write(renderer.note(f"turn {order.turn_index} ended, exit code {code}"))
    pane.close(seconds=_FLUSH_SECONDS)
    return 0


def _this_process() -> processes.Process:
    process = processes.identify(os.getpid())
    if process is None:
        raise RuntimeError("/proc is not mounted: a turn cannot be followed without it")
    return process


def _follow(run: Run, follower: OutputFollower, monitor: StopMonitor) -> None:
    """Follow the program to its end, then write the remaining events."""
    ending = os.pidfd_open(run.child.pid)
    pause = _MIN_PAUSE_SECONDS
    while not select.select([ending], [], [], monitor.pause(time.monotonic(), pause))[0]:
        had_output = follower.advance()
        monitor.check(time.monotonic())
        pause = _MIN_PAUSE_SECONDS if had_output else min(pause * 2, _MAX_PAUSE_SECONDS)
    follower.finish()
    os.close(ending)
