"""The queue against a model of it: whatever is done in whatever order, both tell the same story."""

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from posthouse.errors import Conflict
from posthouse.queue import DIED_RUNNING, Counts, ExecutionResult, QueueFull, Request, open_queue
from posthouse.queue.epochs import DISCARDED
from posthouse.queue.sqlite import SqliteQueue

T = TypeVar("T")
MAX_WAITING = 8
RANK = {"/compact": 1, "/clear": 2, "/new": 3}
CHOICES: st.SearchStrategy[Literal["replay", "discard"]] = st.sampled_from(["replay", "discard"])
WORDS = st.sampled_from(["hello", "interrupt", "/compact", " /clear ", "/new", "/new please"])


@dataclass(slots=True)
class Kept:
    """One request, as the model remembers it."""

    request_id: str
    words: str
    epoch: int
    carrier: int
    state: str
    error: str | None = None

    @property
    def rank(self) -> int:
        return RANK.get(self.words.strip(), 0)

    @property
    def is_control(self) -> bool:
        return self.words == "interrupt" or self.rank > 0


class Machine(RuleBasedStateMachine):
    """Accepts, claims, finishes, dies, sees agents come and go, and decides, in any order."""

    def __init__(self) -> None:
        super().__init__()
        # In memory: what is on disk when is another test's business.
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="posthouse-machine-", dir=memory))
        self.path = self.folder / "queue.sqlite"
        self.runner = asyncio.Runner()
        self.queue: SqliteQueue = self.run(open_queue(self.path, max_waiting=MAX_WAITING))
        self.kept: list[Kept] = []
        self.epoch = 0
        self.is_decided = True

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.queue.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    @initialize()
    def an_agent_appears_and_is_relaunched(self) -> None:
        self.observe(is_known=True)
        self.observe(is_known=True)

    @rule(words=WORDS, lag=st.sampled_from([0, 0, 1]))
    def accept(self, words: str, lag: int) -> None:
        """With *lag* the caller still believes in the agent before this one."""
        epoch = max(1, self.epoch - lag)
        kind = "interrupt" if words == "interrupt" else "submit_prompt"
        payload = {} if kind == "interrupt" else {"prompt": words}
        request = Request(kind=kind, payload=payload, epoch=epoch)
        if len(self.of("accepted")) >= MAX_WAITING:
            with pytest.raises(QueueFull):
                self.run(self.queue.put(request))
            return
        accepted = self.run(self.queue.put(request))
        self.kept.append(Kept(accepted.request_id, words, epoch, epoch, "accepted"))
        assert accepted.depth == len(self.of("accepted")) + len(self.of("running"))

    @rule()
    def interrupt_at_once(self) -> None:
        accepted = self.run(
            self.queue.put(Request(kind="interrupt", payload={}, epoch=self.epoch), start=True)
        )
        self.kept.append(Kept(accepted.request_id, "interrupt", self.epoch, self.epoch, "running"))

    @rule()
    def take_the_next(self) -> None:
        row = self.run(self.queue.next())
        expected = self.plan()
        assert (row and (row.request_id, row.epoch, row.carrier)) == (
            expected and (expected.request_id, expected.epoch, expected.carrier)
        )
        if row is None or expected is None:
            return
        claim = self.run(self.queue.claim(row.request_id))
        coalesced = self.coalesce()
        assert claim.is_taken
        assert (claim.coalesced.request_ids if claim.coalesced else ()) == coalesced
        expected.state = "running"

    @precondition(lambda self: self.of("accepted"))
    @rule(data=st.data())
    def take_one_that_is_not_next(self, data: st.DataObject) -> None:
        wanted = data.draw(st.sampled_from(self.of("accepted")))
        if wanted is self.plan():
            return
        claim = self.run(self.queue.claim(wanted.request_id))
        self.coalesce()
        assert not claim.is_taken

    @precondition(lambda self: self.of("running"))
    @rule(data=st.data(), how=st.sampled_from(["completed", "failed", "accepted"]))
    def end_what_runs(self, data: st.DataObject, how: Literal["completed", "failed", "accepted"]) -> None:
        one = data.draw(st.sampled_from(self.of("running")))
        if how == "accepted":
            assert self.run(self.queue.release(one.request_id))
        else:
            one.error = "no" if how == "failed" else None
            assert self.run(self.queue.finish(one.request_id, ExecutionResult(state=how, error=one.error)))
        one.state = how

    @precondition(lambda self: self.of("accepted"))
    @rule(data=st.data())
    def refuse_what_waits(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.of("accepted")))
        assert self.run(self.queue.refuse(one.request_id, "stray"))
        one.state, one.error = "failed", "stray"

    @rule()
    def die_and_start_again(self) -> None:
        """Closing keeps no more than a crash would: everything that returned was on disk before."""
        self.run(self.queue.close())
        self.queue = self.run(open_queue(self.path, max_waiting=MAX_WAITING))
        running = self.of("running")
        assert [one.request_id for one in self.queue.recovery.failed] == [one.request_id for one in running]
        for one in running:
            one.state, one.error = "failed", DIED_RUNNING

    @rule(is_known=st.booleans())
    def observe(self, is_known: bool) -> None:
        waiting = bool(self.of("accepted"))
        instance, _ = self.run(self.queue.observe(f"instance {self.epoch + 1}", is_known=is_known))
        self.epoch += 1
        self.is_decided = self.epoch == 1 or (is_known and not waiting)
        assert (instance.epoch, instance.is_decided) == (self.epoch, self.is_decided)

    @precondition(lambda self: self.is_decided)
    @rule(choice=CHOICES)
    def decide_once_too_often(self, choice: Literal["replay", "discard"]) -> None:
        with pytest.raises(Conflict, check=lambda error: error.code == "nothing_to_decide"):
            self.run(self.queue.decide(choice))

    @precondition(lambda self: not self.is_decided)
    @rule(choice=CHOICES)
    def decide(self, choice: Literal["replay", "discard"]) -> None:
        waiting = self.of("accepted")
        decided = self.run(self.queue.decide(choice))
        assert decided.request_ids == tuple(one.request_id for one in waiting)
        self.is_decided = True
        for one in waiting:
            if choice == "replay":
                one.carrier = self.epoch
            else:
                one.state, one.error = "failed", DISCARDED

    @precondition(lambda self: self.of("accepted"))
    @rule(choice=CHOICES)
    def replace_the_agent_and_decide(self, choice: Literal["replay", "discard"]) -> None:
        self.observe(is_known=False)
        self.decide(choice)

    @rule()
    def prune(self) -> None:
        assert self.run(self.queue.prune()) == 0

    @invariant()
    def both_tell_the_same(self) -> None:
        with sqlite3.connect(self.path) as connection:
            rows = connection.execute(
                "SELECT request_id, state, managed_agent_instance_epoch, error_detail FROM gateway_requests"
                " JOIN posthouse_requests USING (request_id) ORDER BY sequence"
            ).fetchall()
        connection.close()
        assert rows == [(one.request_id, one.state, one.epoch, one.error) for one in self.kept]
        assert self.queue.counts == Counts(len(self.of("accepted")), len(self.of("running")))
        latest = self.run(self.queue.latest_instance())
        assert (latest.epoch if latest else 0) == self.epoch
        assert (latest.is_decided if latest else True) == self.is_decided

    def of(self, state: str) -> list[Kept]:
        return [one for one in self.kept if one.state == state]

    def control_run(self) -> list[Kept]:
        """The control intents that stand together at the head."""
        run: list[Kept] = []
        for one in self.of("accepted"):
            if not one.is_control or one.epoch != self.of("accepted")[0].epoch:
                break
            run.append(one)
        return run

    def effective(self) -> list[Kept]:
        """What is left of the run: its first interrupt, then the last of its strongest context actions."""
        run = self.control_run()
        interrupts = [one for one in run if one.words == "interrupt"]
        contexts = [one for one in run if one.rank]
        strongest = [one for one in contexts if one.rank == max(other.rank for other in contexts)]
        return [*interrupts[:1], *strongest[-1:]]

    def plan(self) -> Kept | None:
        waiting = self.of("accepted")
        return next(iter(self.effective() or waiting), None)

    def coalesce(self) -> tuple[str, ...]:
        left = self.effective()
        dropped = [one for one in self.control_run() if one not in left]
        for one in dropped:
            one.state = "coalesced"
        return tuple(one.request_id for one in dropped)


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=120,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
