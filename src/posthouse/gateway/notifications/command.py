"""Runs a command with a notice on its standard input: no shell, no secrets, no leftover processes."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from posthouse.gateway.notifications.delivery_status import DeliveryOutcome, delivered, refused
from posthouse.gateway.notifications.message import Notice
from posthouse.support import processes

#: Environment variable that marks every process of a command; the value is the target's id.
MARK = "POSTHOUSE_NOTIFY_TARGET"
#: Environment variable with the occasion, for a command that reads no JSON.
OCCASION = "POSTHOUSE_NOTIFY_OCCASION"
#: Variables that a command inherits: none that could be a secret.
_INHERITED = ("HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
_MAX_OUTPUT_BYTES = 4096
_OUTPUT_SECONDS = 2.0


async def run(
    command: Sequence[str],
    notice: Notice,
    *,
    mark: str,
    folder: Path,
    within_seconds: float,
) -> DeliveryOutcome:
    """Run *command* in *folder*; exit code 0 counts as delivered.

    All processes that it started are killed at its end, also when this is cancelled.
    """
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**environment, MARK: mark, OCCASION: notice.occasion},
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return refused(f"command can't be run: {error}")
    streams = asyncio.gather(_write_body(process, notice.body), _read_output(process))
    code: int | None = None
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_seconds):
                code = await process.wait()
    finally:
        # First kill leftover children, which would keep the output open.
        await _kill_all(process, mark)
        output = await _remaining_output(streams)
    if code is None:
        return refused(f"command did not end within {within_seconds:g} s: {output}")
    return delivered(output) if code == 0 else refused(f"command exited with {code}: {output}")


def end_leftovers(mark: str) -> None:
    """Kill processes left running by a command of an earlier gateway that was killed. Blocks."""
    processes.end(processes.with_variable(MARK, mark))


async def _write_body(process: asyncio.subprocess.Process, body: bytes) -> None:
    assert process.stdin is not None
    # A command that does not read its input closes the pipe or exits.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(body)
        await process.stdin.drain()
        process.stdin.close()


async def _read_output(process: asyncio.subprocess.Process) -> str:
    """The last part of its output."""
    assert process.stdout is not None
    output = b""
    while part := await process.stdout.read(_MAX_OUTPUT_BYTES):
        output = (output + part)[-_MAX_OUTPUT_BYTES:]
    return output.decode(errors="replace")


async def _remaining_output(streams: "asyncio.Future[tuple[None, str]]") -> str:
    """The output, which should be closed by now; waits 2 s at most."""
    try:
        async with asyncio.timeout(_OUTPUT_SECONDS):
            return (await streams)[1]
    except TimeoutError:
        return ""


async def _kill_all(process: asyncio.subprocess.Process, mark: str) -> None:
    """Kill the process, its group, and marked processes that left the group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    left = await asyncio.to_thread(processes.with_variable, MARK, mark)
    processes.signal_all(left, signal.SIGKILL)
    await process.wait()
