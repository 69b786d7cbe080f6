"""Runs a command with a notice on its standard input: no shell, no secrets, nothing left over."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from posthouse.gateway.notifications.delivery_status import Outcome, delivered, refused
from posthouse.gateway.notifications.message import Notice
from posthouse.support import processes

#: In the environment of whatever a command starts; the value is the target's id.
MARK = "POSTHOUSE_NOTIFY_TARGET"
#: What it is told of, for a command that reads no JSON.
OCCASION = "POSTHOUSE_NOTIFY_OCCASION"
#: Of our own environment, what is passed on: nothing that could be a secret.
_INHERITED = ("HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
_MAX_OUTPUT_BYTES = 4096
_LAST_WORDS_SECONDS = 2.0


async def run(
    command: Sequence[str],
    notice: Notice,
    *,
    mark: str,
    folder: Path,
    within_seconds: float,
) -> Outcome:
    """Run *command* in *folder*; delivered means that it ended with 0.

    Whatever it started is ended with it, also when this is cancelled.
    """
    passed_on = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**passed_on, MARK: mark, OCCASION: notice.occasion},
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return refused(f"it can't be run: {error}")
    told = asyncio.gather(_give(process, notice.body), _hear(process))
    code: int | None = None
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_seconds):
                code = await process.wait()
    finally:
        # Only now: a child that it left behind would keep its output open for ever.
        await _end(process, mark)
        said = await _last_words(told)
    if code is None:
        return refused(f"it did not end within {within_seconds:g} s: {said}")
    return delivered(said) if code == 0 else refused(f"it ended with {code}: {said}")


def end_leftovers(mark: str) -> None:
    """End what a command of an earlier gateway, which was killed, left running. Blocks."""
    processes.end(processes.with_variable(MARK, mark))


async def _give(process: asyncio.subprocess.Process, body: bytes) -> None:
    assert process.stdin is not None
    # A command that does not want to know closes its end, or ends.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(body)
        await process.stdin.drain()
        process.stdin.close()


async def _hear(process: asyncio.subprocess.Process) -> str:
    """The end of what it says."""
    assert process.stdout is not None
    said = b""
    while part := await process.stdout.read(_MAX_OUTPUT_BYTES):
        said = (said + part)[-_MAX_OUTPUT_BYTES:]
    return said.decode(errors="replace")


async def _last_words(told: "asyncio.Future[tuple[None, str]]") -> str:
    """What it said, now that nobody should hold its output any more; not waited for without end."""
    try:
        async with asyncio.timeout(_LAST_WORDS_SECONDS):
            return (await told)[1]
    except TimeoutError:
        return ""


async def _end(process: asyncio.subprocess.Process, mark: str) -> None:
    """Leave nothing of it: neither itself, nor its group, nor what left the group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    left = await asyncio.to_thread(processes.with_variable, MARK, mark)
    processes.signal_all(left, signal.SIGKILL)
    await process.wait()
