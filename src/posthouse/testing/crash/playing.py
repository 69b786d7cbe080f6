"""Plays trials on a pair of agents: somebody dies, the next gateway takes over, and all is judged."""

import os
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from posthouse.gateway_lifecycle import attach, bindings
from posthouse.support import crashpoints
from posthouse.terminal.client import Server, Tmux
from posthouse.testing.crash.judging import Claim
from posthouse.testing.crash.life import DEATH_NOTE, Death, Life
from posthouse.testing.crash.scenarios import SCENARIOS, Scenario, judge_prompts
from posthouse.testing.crash.subject import Subject
from posthouse.testing.crash.trial import ANY_MOMENT, AgentKind, Result, Steps, Trial, Verdict, Victim
from posthouse.testing.scripted_agents import house_in
from posthouse.testing.waiting import LIMIT_SECONDS

_DONE_SECONDS = 30.0
START, ATTACH, DETACH = "start", "attach", "detach"


class Player:
    """Two agents on a tmux server of their own, and whoever dies beside them."""

    def __init__(self, subjects: dict[AgentKind, Subject], folder: Path) -> None:
        self._subjects = subjects
        self._folder = folder
        self._count = 0

    def play(self, trial: Trial) -> Result:
        """Let somebody die as *trial* says, and look at what is left."""
        begun = time.monotonic()
        subject, tag = self._subjects[trial.agent], self._tag()
        try:
            step, claims = self._die(subject, trial, tag, trial.fuse)
            notes, verdicts = self._judge(subject, trial.scenario, tag, claims)
        except Exception as error:  # noqa: BLE001 - the next trial goes on with what this one left
            # What can't be taken up again by the next gateway is lost, whatever it was.
            step, notes, verdicts = None, [f"{type(error).__name__}: {error}"], ["lost"]
            self._renew(subject)
        return Result(
            trial=trial,
            died_there=step == trial.step,
            verdicts=verdicts,
            notes=notes,
            seconds=time.monotonic() - begun,
        )

    def record(self, scenario: str, agent: AgentKind, victim: Victim) -> Steps:
        """Play it without a death, and count the steps."""
        subject, tag = self._subjects[agent], self._tag()
        written = self._folder / "steps"
        written.unlink(missing_ok=True)
        trial = Trial(scenario=scenario, agent=agent, victim=victim, step="none")
        _, claims = self._die(subject, trial, tag, f">{written}")
        self._judge(subject, scenario, tag, claims)
        steps = Counter(written.read_text().splitlines() if written.exists() else [])
        return Steps(scenario=scenario, agent=agent, victim=victim, steps=dict(steps))

    def _tag(self) -> str:
        self._count += 1
        return f"trial-{os.getpid()}-{self._count}"

    def _die(self, subject: Subject, trial: Trial, tag: str, fuse: str) -> tuple[str | None, list[Claim]]:
        match trial.scenario:
            case "start":
                return self._die_starting(subject, tag, fuse)
            case "attach":
                return self._die_attaching(subject, tag, fuse)
            case "detach":
                return self._die_detaching(subject, tag, fuse)
        scenario = SCENARIOS[trial.scenario]
        life = subject.serve()
        scenario.prepare(subject, tag)
        if trial.victim == "bridge":
            subject.arm_bridge(fuse)
        elif trial.step != ANY_MOMENT:
            life.arm(fuse)
        with _killer(life, trial):
            claims = scenario.act(subject, tag)
            subject.until(
                lambda: life.is_over or self._is_done(subject, scenario, claims), seconds=_DONE_SECONDS
            )
        subject.arm_bridge(None)
        was_over = life.is_over
        step = life.end()
        if trial.step == ANY_MOMENT:
            return (ANY_MOMENT if was_over else None), claims
        if trial.victim == "bridge":
            return (trial.step if subject.shows(f"{DEATH_NOTE}{trial.step}") else None), claims
        return step, claims

    def _is_done(self, subject: Subject, scenario: Scenario, claims: list[Claim]) -> bool:
        """Whether all has ended that ends by itself: of a long work only what was asked about it."""
        return scenario.is_done(subject, claims[-1:] if scenario.is_long else claims)

    def _die_starting(self, subject: Subject, tag: str, fuse: str) -> tuple[str | None, list[Claim]]:
        """A gateway dies while it takes up what another left."""
        subject.serve().end()
        text = f"[[say {tag}]]"
        subject.put_in_queue(text)
        life = subject.live(fuse=fuse)
        claim = Claim(text=text, was_accepted=True)
        try:
            subject.use(life.serving())
            subject.until(
                lambda: life.is_over or subject.story(text).receipt == "completed", seconds=_DONE_SECONDS
            )
        except Death:
            return life.end(), [claim]
        return life.end(), [claim]

    def _die_attaching(self, subject: Subject, tag: str, fuse: str) -> tuple[str | None, list[Claim]]:
        """Whoever attaches a gateway dies, while a prompt waits for it; the next one attaches again."""
        subject.serve().end()
        text = f"[[say {tag}]]"
        subject.put_in_queue(text)
        step = self._call(lambda: self._attach(subject), fuse)
        self._attach(subject)
        there = attach.live(subject.session)
        if there is None:
            raise Death("no gateway serves after the second attach")
        subject.use(there)
        subject.until(lambda: subject.story(text).receipt == "completed", seconds=_DONE_SECONDS)
        attach.detach(subject.session, subject.house.registry)
        return step, [Claim(text=text, was_accepted=True)]

    def _die_detaching(self, subject: Subject, tag: str, fuse: str) -> tuple[str | None, list[Claim]]:
        """Whoever detaches a gateway dies; the next one detaches again, and later prompts are carried out."""
        life = subject.serve()
        bindings.publish(subject.session, subject.house.registry, life.serving())
        detach = partial(attach.detach, subject.session, subject.house.registry)
        step = self._call(detach, fuse)
        detach()
        if not life.is_over:
            raise Death("the gateway outlived its detaching")
        text = f"[[say {tag}]]"
        subject.put_in_queue(text)
        return step, [Claim(text=text, was_accepted=True)]

    def _call(self, act: Callable[[], object], fuse: str) -> str | None:
        """Do *act* in a process with that fuse; the step where it died."""

        def armed() -> int:
            crashpoints.arm(fuse)
            act()
            return 0

        caller = Life(armed, self._folder)
        caller.wait()
        return caller.end()

    def _attach(self, subject: Subject) -> None:
        attach.attach(
            subject.session, subject.house.registry, environment=os.environ, mode="detached_process", port=0
        )

    def _judge(
        self, subject: Subject, name: str, tag: str, claims: list[Claim]
    ) -> tuple[list[str], list[Verdict]]:
        """Let the next gateway take over, wait until all is at rest, and judge each prompt."""
        scenario = SCENARIOS.get(name)
        subject.serve()
        if scenario is not None:
            claims = scenario.again(subject, tag, claims)
            if scenario.is_long:
                subject.stop_work()
        is_at_rest = subject.until(subject.is_at_rest, seconds=LIMIT_SECONDS)
        judged = (judge_prompts if scenario is None else scenario.judge)(subject, claims)
        notes = [note for verdict, note in judged if verdict != "kept"]
        if not is_at_rest:
            notes.append(f"it did not come to rest: {subject.ask('GET', '/v1/status').body}")
        return notes, [verdict for verdict, _ in judged] if is_at_rest else ["lost"]

    def _renew(self, subject: Subject) -> None:
        """Bring the agent back for the next trial, whatever this one left."""
        if subject.life is not None:
            subject.life.end()
        subject.stop_work()


@contextmanager
def _killer(life: Life, trial: Trial) -> Iterator[None]:
    """Kill *life* after the milliseconds that the trial says, if it says so."""
    if trial.step != ANY_MOMENT:
        yield
        return
    timer = threading.Timer(trial.time / 1000, os.kill, (life.pid, signal.SIGKILL))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # no fork while a thread runs


@contextmanager
def player_in(folder: Path) -> Iterator[Player]:
    """A player with a fresh tmux server and agents below *folder*."""
    server = Server(str(folder / "tmux"))
    house = house_in(folder, server)
    try:
        subjects: dict[AgentKind, Subject] = {
            "tui": Subject(house, house.launch(headless=False, name="tui", has_mailbox=True)),
            "headless": Subject(house, house.launch(headless=True, name="headless", has_mailbox=True)),
        }
        yield Player(subjects, folder)
        for subject in subjects.values():
            subject.end()
    finally:
        house.end()
        Tmux(server).run("kill-server")
        shutil.rmtree(folder / "runtime", ignore_errors=True)
