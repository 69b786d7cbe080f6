"""Waits on the event loop for the end of any process, child or not."""

import asyncio
import os


async def ended(pid: int) -> None:
    """Return when the process that has *pid* now is gone; at once when there is none."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(descriptor, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
