"""A keeper and the lives of its host."""

import subprocess
import sys

import pytest

_KEEPER = """
import asyncio, os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from posthouse.gateway.host import keeper

lives = Path(sys.argv[1])

def block_loop():
    read, write = os.pipe()
    os.read(read, 1)

def stop_itself():
    os.kill(os.getpid(), signal.SIGSTOP)

async def block_pool():
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    beating = asyncio.create_task(keeper.beat(beats, every_seconds=0.05))
    read, write = os.pipe()
    await asyncio.to_thread(os.read, read, 1)

def live(descriptor):
    global beats
    beats = descriptor
    with lives.open("a") as told:
        told.write("life\\n")
    if len(lives.read_text().splitlines()) == 1:
        if sys.argv[2] == "pool":
            asyncio.run(block_pool())
        else:
            {"loop": block_loop, "stopped": stop_itself}[sys.argv[2]]()
    return 0

sys.exit(keeper.supervise(live, heartbeat_timeout_seconds=0.5))
"""


@pytest.mark.parametrize("fault", ["loop", "pool", "stopped"])
def test_a_host_without_a_heartbeat_is_killed_and_started_again(fault: str, tmp_path: object) -> None:
    """Whether its loop, its threads or the whole process hangs; the next life ends by itself."""
    lives = f"{tmp_path}/lives"
    done = subprocess.run(
        [sys.executable, "-c", _KEEPER, lives, fault],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    with open(lives) as told:
        assert told.read() == "life\nlife\n"
    assert "no heartbeat for 0.5 s" in done.stderr


_BEATING = """
import asyncio, sys
from posthouse.gateway.host import keeper

async def serve(beats):
    beating = asyncio.create_task(keeper.beat(beats, every_seconds=0.05))
    await asyncio.sleep(1.5)

def live(beats):
    asyncio.run(serve(beats))
    return 0

sys.exit(keeper.supervise(live, heartbeat_timeout_seconds=1.0))
"""


def test_a_host_that_beats_is_left_alone() -> None:
    """However long it lives."""
    done = subprocess.run(
        [sys.executable, "-c", _BEATING], capture_output=True, text=True, timeout=120, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
