"""`agents watch` beside a gateway that is killed."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands


class Lines:
    """What a running command has printed so far. It is ended with the body, whatever happens there."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.seen: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def until(self, condition: Callable[[list[str]], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition(self.seen):
            assert time.monotonic() < deadline, self.seen
            time.sleep(0.02)

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reading.join(LIMIT_SECONDS)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def end(self) -> int:
        """Press Ctrl-C; the exit code."""
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(LIMIT_SECONDS)
        self._reading.join(LIMIT_SECONDS)
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.seen.append(line)


def test_watching_goes_on_over_the_gateways_death(posthouse: "Commands") -> None:
    """Every event is shown once, those of the time between two gateways too; without a name, all agents are.

    Ctrl-C ends either.
    """
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--headless")
    with Lines(posthouse.start("agents", "watch", "one", "--since", "start", "--json")) as watching:
        posthouse.ok("agents", "prompt", "one", "--wait", "[[say one]]")
        watching.until(lambda seen: _completed(seen) == 1)
        (pid_file,) = posthouse.folder.rglob("gateway.pid")
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        posthouse.ok("agents", "gateway", "attach", "one", "--background")
        posthouse.ok("agents", "prompt", "one", "--wait", "[[say two]]")
        watching.until(lambda seen: _completed(seen) == 2)
        code = watching.end()
    with Lines(posthouse.start("agents", "watch", "--json")) as everybody:
        everybody.until(lambda seen: any('"last_outcome": "success"' in line for line in seen))
        posthouse.ok("agents", "stop", "one")
        everybody.until(lambda seen: '"gone": true' in seen[-1])
        code_of_all = everybody.end()

    (events,) = posthouse.folder.rglob("events.jsonl")
    shown = [json.loads(line) for line in watching.seen]
    ids = [event.pop("event_id") for event in shown]
    assert shown == [json.loads(line) for line in events.read_text().splitlines()][: len(shown)]
    assert (len(set(ids)), code, code_of_all) == (len(ids), 130, 130)
    assert {json.loads(line)["agent_name"] for line in everybody.seen} == {"one"}


def _completed(seen: list[str]) -> int:
    """How many requests were told to be over."""
    return sum('"kind": "completed"' in line for line in seen)
