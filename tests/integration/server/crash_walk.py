"""Kills a server at its steps of taking one turn, lets the next one find out, and tells what it found.

A program of its own, because it forks: each child is one server's life. Run by `test_turn_crashes`.
"""

import asyncio
import json
import logging
import os
import sys
import traceback
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from posthouse.agent.adapter import Prompt
from posthouse.clients.connections import HttpResponse
from posthouse.contracts import managed_agent_files as mf
from posthouse.server.turns.agent_history import AgentHistory
from posthouse.server.turns.agent_turns import AgentTurns
from posthouse.server.turns.follower import TurnFollower
from posthouse.server.turns.store import TurnStore
from posthouse.sessions import session as sessions
from posthouse.support import crashpoints
from posthouse.testing.truth import TruthLog

AGENT = "walker"
_LOG = logging.getLogger("walk")
_LIMIT_SECONDS = 180
#: Steps inside one write: a file is there whole or not at all, and `wrote` says that it is. Those of a turn's
#: own folder are walked in `integration/turns`.
_INSIDE = ("write ", "fsync ", "rename ", "wrote prompt.txt", "wrote order.json", "wrote .last")


class Gateway:
    """Accepts every turn, on disk, and never begins one by itself."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def accepted(self) -> list[str]:
        return self._path.read_text().split() if self._path.exists() else []

    async def request(self, method: str, _path: str, *, body: bytes | None = None, **_: Any) -> HttpResponse:
        if method == "POST" and body is not None:
            with self._path.open("a") as file:
                file.write(f"{json.loads(body)['payload']['turn_id']}\n")
            return HttpResponse(status=202, headers=(), body=b'{"request_id": "gwreq-1"}')
        await asyncio.sleep(_LIMIT_SECONDS)
        return HttpResponse(status=200, headers=(), body=b'{"state": "accepted"}')


class Server:
    """One server's life with the agent: it finds out what the last one left, and does one thing."""

    def __init__(self, walk: "Walk") -> None:
        self._walk = walk
        book = AgentHistory(AGENT, walk.store)
        self._turns = AgentTurns(book, TurnFollower(book, _LOG, lambda kind, record: None, self._gateway))
        self._book = book

    async def _gateway(self) -> Any:
        return self._walk.gateway

    async def submit(self, prompt: Prompt | None) -> None:
        """Take a turn, if there is one, and see the end of whatever runs."""
        await self._turns.recover()
        if prompt is not None:
            session = sessions.read(self._walk.manifest_path)
            await self._turns.submit(session, prompt, is_from_gateway=self._walk.gateway is not None)
        while self._book.active is not None:
            await asyncio.sleep(0.01)
        await self._turns.close()

    async def admit(self, prompt: Prompt) -> None:
        """Have the gateway accept a turn."""
        await self._turns.recover()
        gateway: Any = self._walk.gateway
        await self._turns.admit(sessions.read(self._walk.manifest_path), prompt, gateway)
        await self._turns.close()


def _forked(fuse: str | None, life: Coroutine[Any, Any, None]) -> bool:
    """Whether that server lived to its end."""
    pid = os.fork()
    if pid == 0:
        crashpoints.arm(fuse)
        try:
            asyncio.run(asyncio.wait_for(life, _LIMIT_SECONDS))
        except BaseException:  # noqa: BLE001 - a fork must never run its parent's code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    life.close()
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        sys.exit(f"a server failed at {fuse}")
    return os.WIFEXITED(status)


class Walk:
    """A session, the records about it, and what became of each prompt it was meant to get."""

    def __init__(self, root: Path, manifest_path: Path, gateway: Gateway | None) -> None:
        self.root = root
        self.manifest_path = manifest_path
        self.gateway = gateway
        self.store = TurnStore(root, _LOG)
        plan = sessions.read(manifest_path).manifest.launch_plan
        self._truth = TruthLog(Path(plan.home_selector.home_path) / "truth.jsonl")
        self._steps = root / "steps.txt"

    def submitted(self) -> None:
        """Kill a server that starts a turn itself."""
        first = Prompt(text="[[say whole]]", turn_id="turn-whole")
        _forked(f">{self._steps}", Server(self).submit(first))
        for number, fuse in enumerate(self._fuses()):
            prompt = Prompt(text=f"[[say {number}]]", turn_id=f"turn-{number}")
            survived = _forked(fuse, Server(self).submit(prompt))
            _forked(None, Server(self).submit(None))
            self._tell(fuse, prompt, was_killed=not survived)

    def admitted(self, gateway: Gateway) -> None:
        """Kill a server that has a gateway accept a turn; the gateway then asks for what it accepted."""
        _forked(f">{self._steps}", Server(self).admit(Prompt(text="[[say whole]]")))
        fuses = self._fuses()
        _forked(None, Server(self).submit(Prompt(text="[[say whole]]", turn_id=gateway.accepted()[-1])))
        for number, fuse in enumerate(fuses):
            before = len(gateway.accepted())
            survived = _forked(fuse, Server(self).admit(Prompt(text=f"[[say {number}]]")))
            asked = [*gateway.accepted()[before:], None][0]
            prompt = Prompt(text=f"[[say {number}]]", turn_id=asked)
            _forked(None, Server(self).submit(prompt if asked else None))
            self._tell(fuse, prompt, was_killed=not survived)

    def _fuses(self) -> list[str]:
        """Where to kill: the numbers of the steps that leave something of their own."""
        names = self._steps.read_text().splitlines()
        return [str(number) for number, name in enumerate(names, 1) if not name.startswith(_INSIDE)]

    def _tell(self, fuse: str, prompt: Prompt, *, was_killed: bool) -> None:
        record = self.store.turn(AGENT, prompt.turn_id or "")
        kept = self.root / mf.MANAGED_AGENTS / AGENT
        line = {
            "step": self._steps.read_text().splitlines()[int(fuse) - 1],
            "was_killed": was_killed,
            "status": record and record.status,
            "error": record and record.error,
            "index": record and record.turn_index,
            "received": self._truth.prompts().count(prompt.text),
            "marks": [mark for mark in (mf.ACTIVE_TURN, mf.WAITING_TURN) if (kept / mark).exists()],
        }
        sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()  # a fork would write it again


def main(root: Path, manifest_path: Path, way: str) -> None:
    if way == "submit":
        Walk(root, manifest_path, None).submitted()
    else:
        gateway = Gateway(root / "accepted.txt")
        Walk(root, manifest_path, gateway).admitted(gateway)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
