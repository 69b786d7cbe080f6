"""Kills a server at its steps of taking one turn, lets the next one find out, and tells what it found.

A program of its own, because it forks: each child is one server's life. Run by `test_turn_crashes`.
"""

import asyncio
import json
import logging
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from posthouse.contracts import managed_agent_files as mf
from posthouse.coordination.turns.agent_turns import AgentTurns
from posthouse.coordination.turns.book import Book
from posthouse.coordination.turns.following import Follower
from posthouse.coordination.turns.store import Store
from posthouse.driving.adapter import Prompt
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support import crashpoints
from posthouse.testing.truth import TruthLog

AGENT = "walker"
_LOG = logging.getLogger("walk")
_LIMIT_SECONDS = 120
#: Steps inside one write: a file is there whole or not at all, and `wrote` says that it is.
_INSIDE = ("write ", "fsync ", "rename ", "link ", "created ")


async def _no_gateway() -> None:
    return None


async def _life(store: Store, prompt: Callable[[], tuple[Session, Prompt]] | None) -> None:
    """One server: it finds out what the last one left, takes a turn if it is given one, and sees its end."""
    book = Book(AGENT, store)
    turns = AgentTurns(book, Follower(book, _LOG, lambda kind, record: None, _no_gateway))
    async with asyncio.timeout(_LIMIT_SECONDS):
        await turns.recover()
        if prompt is not None:
            await turns.submit(*prompt())
        while turns.book.active is not None:
            await asyncio.sleep(0.01)
    await turns.close()


def _forked(fuse: str | None, life: Coroutine[Any, Any, None]) -> bool:
    """Whether that server lived to its end."""
    pid = os.fork()
    if pid == 0:
        crashpoints.arm(fuse)
        try:
            asyncio.run(life)
        except BaseException:  # noqa: BLE001 - a fork must never run its parent's code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    life.close()
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        sys.exit(f"a server failed at {fuse}")
    return os.WIFEXITED(status)


def _fuses(names: list[str], *, every: bool) -> list[str]:
    """Where to kill: each step by its name and number."""
    seen: Counter[str] = Counter()
    fuses = []
    for name in names:
        seen[name] += 1
        if every or not name.startswith(_INSIDE):
            fuses.append(f"{name}#{seen[name]}")
    return fuses


def main(root: Path, manifest_path: Path, *, every: bool) -> None:
    store = Store(root, _LOG)
    session = sessions.read(manifest_path)
    truth = TruthLog(Path(session.manifest.launch_plan.home_selector.home_path) / "truth.jsonl")
    steps = root / "steps.txt"

    def asked(turn_id: str) -> Callable[[], tuple[Session, Prompt]]:
        text = f"[[say {turn_id}]]"
        return lambda: (sessions.read(manifest_path), Prompt(text=text, turn_id=turn_id))

    def told(fuse: str, turn_id: str, *, was_killed: bool) -> None:
        record = store.turn(AGENT, turn_id)
        line = {
            "fuse": fuse,
            "was_killed": was_killed,
            "status": record and record.status,
            "error": record and record.error,
            "index": record and record.turn_index,
            "received": truth.prompts().count(f"[[say {turn_id}]]"),
            "is_marked": (root / mf.MANAGED_AGENTS / AGENT / mf.ACTIVE_TURN).exists(),
        }
        sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()  # a fork would write it again

    _forked(f">{steps}", _life(store, asked("turn-whole")))
    told("none", "turn-whole", was_killed=False)
    for number, fuse in enumerate(_fuses(steps.read_text().splitlines(), every=every)):
        turn_id = f"turn-{number}"
        survived = _forked(fuse.replace("turn-whole", turn_id), _life(store, asked(turn_id)))
        _forked(None, _life(store, None))
        told(fuse, turn_id, was_killed=not survived)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), every=sys.argv[3:] == ["every"])
