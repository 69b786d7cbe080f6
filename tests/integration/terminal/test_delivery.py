"""Typing into a real pane, and finding out what became of it."""

import asyncio
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from posthouse.errors import InvalidInput, Unavailable
from posthouse.support import crashpoints, locks
from posthouse.support.processes import wait_exit
from posthouse.terminal import buffers, delivery, keys, paste, session
from posthouse.terminal.client import NoServer, Server, Tmux
from posthouse.terminal.control import ControlClient
from posthouse.terminal.delivery import Delivery, DeliveryTimeouts, KeysNotTaken, PaneWriter
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Screen, Surface, plain
from posthouse.testing import tmux_log
from posthouse.testing.waiting import LIMIT_SECONDS

_PROGRAM = Path(__file__).with_name("composer_program.py")
_TIMEOUTS = DeliveryTimeouts(lock=0.2, shown=LIMIT_SECONDS, confirm=2, late_confirm=LIMIT_SECONDS)
#: For those who are to give up.
_SHORT_TIMEOUTS = DeliveryTimeouts(confirm=1, late_confirm=1)
#: No turn of a busy agent ends by itself meanwhile.
_LONG_SECONDS = 600
Result = TypeVar("Result")


class ComposerHands:
    """Knows the screen of `composer_program.py`."""

    settle_seconds = 0.02

    def escape_prompt(self, prompt: str) -> str:
        if prompt.startswith("!"):
            raise InvalidInput("it would run")
        return prompt.rstrip("\n")

    def read_surface(self, screen: Screen) -> Surface:
        row = plain(screen.rows[0])
        if not row.startswith(">"):
            return Surface(state="starting", evidence=("no composer",))
        text = row[1:].strip() + "".join(map(plain, screen.rows[1:])).strip()
        if screen.title == "blocked":
            return Surface(state="blocked", evidence=("title",), dialog="trust")
        if screen.title == "active":
            return Surface(state="active", evidence=("title",), composer=text)
        return Surface(state="draft" if text else "ready", evidence=("composer",), composer=text)


@dataclass(frozen=True, slots=True)
class Agent:
    """The program in its pane, and the truth about what it got."""

    tmux: Tmux
    pane: Pane
    folder: Path

    def log(self) -> list[dict[str, str]]:
        path = self.folder / "log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def prompts(self) -> list[str]:
        return [entry["prompt"] for entry in self.log() if "prompt" in entry]

    def use(
        self,
        work: Callable[[PaneWriter], Awaitable[Result]],
        *,
        timeouts: DeliveryTimeouts = _TIMEOUTS,
        when: str | None = "shown",
    ) -> Result:
        """Do *work* with a writer, once the program has painted its composer."""

        async def run() -> Result:
            async with self.pane_writer(timeouts) as writer:
                if when == "shown":
                    await self.painted(writer)
                return await work(writer)

        return asyncio.run(run())

    @asynccontextmanager
    async def pane_writer(self, timeouts: DeliveryTimeouts = _TIMEOUTS) -> AsyncIterator[PaneWriter]:
        client = await ControlClient.attach(self.tmux.server, "gpu", output=True)
        try:
            yield PaneWriter(
                client,
                self.pane.pane_id,
                ComposerHands(),
                lock_path=self.folder / "pane.lock",
                timeouts=timeouts,
            )
        finally:
            await client.close()

    async def painted(self, writer: PaneWriter) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            while (await writer.surface()).state == "starting":
                await asyncio.sleep(0.01)

    def submit(
        self,
        prompt: str,
        *,
        is_acknowledged: bool | None = None,
        timeouts: DeliveryTimeouts = _TIMEOUTS,
        **options: Any,
    ) -> Delivery:
        def acknowledged() -> bool:
            return prompt in self.prompts() if is_acknowledged is None else is_acknowledged

        return self.use(
            lambda writer: writer.submit(prompt, acknowledged=acknowledged, **options), timeouts=timeouts
        )


Start = Callable[..., Agent]


@pytest.fixture
def start(tmux_server: Server, tmp_path: Path) -> Start:
    """Starts the program with options."""
    tmux = Tmux(tmux_server)

    def start(**options: object) -> Agent:
        pane = session.create(tmux, "gpu", working_directory=tmp_path, environment={})
        argv = [sys.executable, "-I", "-S", str(_PROGRAM), str(tmp_path / "log"), json.dumps(options)]
        started = session.start_program(tmux, pane, argv, environment={}, working_directory=tmp_path)
        return Agent(tmux, started, tmp_path)

    return start


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("fix the bug", id="one line"),
        pytest.param("first\nsecond\n\tthird", id="several lines"),
        pytest.param("a;\nkill-server\n#{pid} $HOME ~ \"' \\ { } %end é 🐎;", id="hostile"),
        pytest.param("-l Enter", id="looks like options"),
        pytest.param("word " * 20_000, id="100 KB"),
        pytest.param("x" * (paste.MAX_BYTES - 4) + " é.", id="1 MB"),
    ],
)
def test_a_prompt_arrives_exactly_once(start: Start, prompt: str) -> None:
    """Every character arrives, as one prompt, and two signs say so."""
    agent = start()

    result = agent.submit(prompt)

    assert result.outcome == "submitted"
    assert len(result.evidence) >= 2
    assert agent.prompts() == [prompt]
    assert agent.tmux.run("list-buffers") == ""
    assert list(agent.folder.glob(".*.paste")) == []


def test_no_text_is_in_the_log_of_tmux(start: Start) -> None:
    """Neither a prompt nor typed text; a client of the server could read it for as long as that lives."""
    agent = start(seconds=0)

    async def give(writer: PaneWriter) -> None:
        await writer.submit("the prompt", acknowledged=lambda: "the prompt" in agent.prompts())
        await writer.press(keys.parse("typed text<[Enter]>"))
        async with asyncio.timeout(LIMIT_SECONDS):
            while len(agent.log()) < 2:
                await asyncio.sleep(0.01)

    agent.use(give)
    log = tmux_log.read(agent.tmux.server, "gpu")

    assert agent.prompts() == ["the prompt", "typed text"]
    assert ("paste-buffer" in log, "the prompt" in log, "typed text" in log) == (True, False, False)
    assert agent.tmux.run("list-buffers") == ""


def test_a_text_that_tmux_cannot_read_is_not_typed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """tmux 3.3a calls that a success; the paste then finds no buffer, and the error says so."""
    agent = start()

    @contextmanager
    def gone(text: str, *, lock_path: Path) -> Iterator[Path]:
        yield lock_path.with_name("gone")

    monkeypatch.setattr(buffers, "paste_file", gone)

    with pytest.raises(Unavailable, match="/gone, so nothing was typed"):
        agent.submit("hello")

    assert agent.log() == []


@pytest.mark.parametrize("step", ["prompt file written#1", "prompt pasted#1"])
def test_a_killed_typist_leaves_no_text_for_long(start: Start, tmp_path: Path, step: str) -> None:
    """What it left is removed when the next one attaches."""
    agent = start()
    killed = multiprocessing.get_context("fork").Process(target=_submit_until, args=(agent, step))
    killed.start()
    killed.join(LIMIT_SECONDS)
    # As if it had been killed between loading and pasting.
    agent.tmux.run("set-buffer", "-b", f"posthouse-{killed.pid}-1-{'0' * 16}", "left")

    async def attach() -> None:
        client = await ControlClient.attach(agent.tmux.server, "gpu", output=False)
        await buffers.sweep(client, lock_path=agent.folder / "pane.lock")
        await client.close()

    left = list(agent.folder.glob(".*.paste"))
    asyncio.run(attach())

    assert (killed.exitcode, len(left)) == (-signal.SIGKILL, 1 if "written" in step else 0)
    assert (agent.tmux.run("list-buffers"), list(agent.folder.glob(".*.paste"))) == ("", [])


def _submit_until(agent: Agent, step: str) -> None:
    crashpoints.arm(step)
    agent.submit("hello")


def test_a_paste_cannot_be_left(start: Start) -> None:
    """A prompt with the end-of-paste mark and keys behind it is only text."""
    agent = start()

    agent.submit("a\x1b[201~\rb\x03", is_acknowledged=True)

    assert agent.prompts() == ["a␛[201~\nb␃"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param({"draft": "a person's words"}, "draft", id="draft"),
        pytest.param({"busy": True, "seconds": _LONG_SECONDS}, "active", id="active"),
        pytest.param({"title": "blocked"}, "blocked:trust", id="dialog"),
    ],
)
def test_an_agent_that_is_not_ready_is_left_alone(
    start: Start, options: dict[str, object], reason: str
) -> None:
    """The reason is told and nothing is typed."""
    agent = start(**options)

    async def submit(writer: PaneWriter) -> tuple[Delivery, Screen, Screen]:
        before = await writer.screen()
        result = await writer.submit("hello", acknowledged=lambda: False)
        return result, before, await writer.screen()

    result, before, after = agent.use(submit)

    assert (result.outcome, result.reason) == ("refused", reason)
    assert (agent.log(), after) == ([], before)


def test_a_prompt_that_the_cli_would_misread_is_the_callers_mistake(start: Start) -> None:
    """What the tool's guard refuses is not typed."""
    agent = start()

    with pytest.raises(InvalidInput, match="it would run"):
        agent.submit("!rm")

    assert agent.log() == []


def test_a_starting_agent_is_waited_for(start: Start) -> None:
    """`wait_ready` returns as soon as the composer is there."""
    agent = start()

    surface = agent.use(lambda writer: writer.wait_ready(LIMIT_SECONDS), when=None)

    assert (surface.state, surface.composer) == ("ready", "")


def test_waiting_for_an_agent_at_work_ends_with_its_turn_or_with_time(start: Start) -> None:
    """It says `active` when the time is up, and `ready` when the turn is over."""
    agent = start(busy=True, seconds=_LONG_SECONDS)

    async def wait(writer: PaneWriter) -> list[str]:
        states = [(await writer.wait_ready(0.1)).state]
        waiting = asyncio.create_task(writer.wait_ready(None))
        await writer.interrupt()
        async with asyncio.timeout(LIMIT_SECONDS):
            return [*states, (await waiting).state]

    assert agent.use(wait) == ["active", "ready"]


def test_waiting_ends_with_the_agent(start: Start) -> None:
    """A program that dies without a word ends an endless wait."""
    agent = start(busy=True, seconds=_LONG_SECONDS)

    async def wait(writer: PaneWriter) -> Surface:
        waiting = asyncio.create_task(writer.wait_ready(None))
        await asyncio.sleep(0)
        os.kill(agent.pane.pid, 9)
        async with asyncio.timeout(LIMIT_SECONDS):
            return await waiting

    assert agent.use(wait).state == "exited"


def test_waiting_ends_with_the_client(start: Start) -> None:
    """So does the loss of the control client, with a program that lives on."""
    agent = start(busy=True, seconds=_LONG_SECONDS)

    async def wait(writer: PaneWriter) -> None:
        waiting = asyncio.create_task(writer.wait_ready(None))
        await asyncio.sleep(0)
        await asyncio.to_thread(agent.tmux.run, "detach-client", "-s", "=gpu")
        async with asyncio.timeout(LIMIT_SECONDS):
            with pytest.raises(NoServer):
                await waiting

    agent.use(wait)


def test_a_lost_enter_is_pressed_once_more(start: Start) -> None:
    """While the text still stands in an idle composer, a second Enter is safe; nothing is pasted again."""
    agent = start(enters_to_lose=1)

    result = agent.submit("hello")

    assert (result.outcome, agent.prompts()) == ("submitted", ["hello"])


def test_an_agent_that_does_not_take_enter_is_not_claimed(start: Start) -> None:
    """After the second Enter the answer is `unknown`, and the text stands there once."""
    agent = start(enters_to_lose=99)

    async def submit(writer: PaneWriter) -> tuple[Delivery, Surface]:
        return await writer.submit("hello", acknowledged=lambda: False), await writer.surface()

    result, surface = agent.use(submit, timeouts=_SHORT_TIMEOUTS)

    assert result == Delivery(outcome="unknown", reason="unconfirmed", evidence=())
    assert (surface.composer, agent.prompts()) == ("hello", [])


def test_one_sign_is_not_enough(start: Start) -> None:
    """An empty composer alone does not say that the agent took the prompt."""
    agent = start(seconds=0)

    result = agent.submit("hello", is_acknowledged=False, timeouts=_SHORT_TIMEOUTS)

    assert result == Delivery(outcome="unknown", reason="unconfirmed", evidence=("composer_empty",))


def test_an_agent_that_is_done_at_once_is_confirmed_by_its_transcript(start: Start) -> None:
    """No activity was to be seen; the transcript and the empty composer agree."""
    agent = start(seconds=0)

    result = agent.submit("hello")

    assert result == Delivery(
        outcome="submitted", reason="confirmed", evidence=("acknowledged", "composer_empty")
    )


def test_a_prompt_that_asks_for_permission_was_taken(start: Start) -> None:
    """A dialog right after Enter is a sign, too."""
    agent = start(seconds=_LONG_SECONDS, after="blocked")

    result = agent.submit("hello")

    assert result == Delivery(outcome="submitted", reason="confirmed", evidence=("acknowledged", "started"))


def test_an_agent_that_dies_of_a_prompt_had_it(start: Start) -> None:
    """The transcript has it and the program is gone: it was submitted."""
    agent = start()

    result = agent.submit("die")

    assert (result.outcome, set(result.evidence)) == ("submitted", {"acknowledged", "exited"})


def test_text_that_does_not_appear_is_not_entered(start: Start) -> None:
    """Without the text in the composer no Enter is pressed."""
    agent = start(blind=True)

    result = agent.use(
        lambda writer: writer.submit("hello", acknowledged=lambda: False),
        timeouts=DeliveryTimeouts(shown=0.5),
    )

    assert result.outcome == "unknown"
    assert (result.reason, agent.prompts()) == ("the text did not appear in the composer", [])


def test_a_busy_agent_may_queue_when_asked_to(start: Start) -> None:
    """Its own queue is success; the composer gave the text away."""
    agent = start(busy=True, seconds=_LONG_SECONDS)

    result = agent.submit("hello", is_acknowledged=False, while_busy=True)

    assert (result.outcome, result.evidence) == ("submitted", ("composer_empty", "queued"))
    assert agent.prompts() == ["hello"]


def test_a_dead_pane_gets_nothing_and_tmux_lives(start: Start) -> None:
    """A paste into a dead pane would crash the server."""
    agent = start()

    async def die_and_submit(writer: PaneWriter) -> Delivery:
        os.kill(agent.pane.pid, 9)
        wait_exit(agent.pane.pid, seconds=LIMIT_SECONDS)
        async with asyncio.timeout(LIMIT_SECONDS):
            while not (await writer.screen()).dead:
                await asyncio.sleep(0.01)
        return await writer.submit("hello", acknowledged=lambda: False)

    assert agent.use(die_and_submit).reason == "exited"
    assert session.exists(agent.tmux, "gpu")


def test_an_agent_that_dies_while_we_look_gets_nothing_either(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even when the last look said ready, the paste itself asks again."""
    agent = start()
    monkeypatch.setattr(delivery, "refusal", lambda *_screens, **_options: None)

    async def die_and_submit(writer: PaneWriter) -> Delivery:
        os.kill(agent.pane.pid, 9)
        async with asyncio.timeout(LIMIT_SECONDS):
            while not (await writer.screen()).dead:
                await asyncio.sleep(0.01)
        return await writer.submit("hello", acknowledged=lambda: False)

    assert agent.use(die_and_submit) == Delivery(outcome="refused", reason="exited")
    buffers_left = agent.tmux.run("list-buffers", "-F", "#{buffer_name}").splitlines()
    assert session.exists(agent.tmux, "gpu")
    assert [name for name in buffers_left if not name.startswith("posthouse-last-screen-")] == []


def test_a_person_who_scrolls_is_not_disturbed(start: Start) -> None:
    """tmux would eat the Enter: nothing is typed, and readiness is waited for until they are done."""
    agent = start()

    async def scroll(writer: PaneWriter) -> tuple[Delivery, bool, str]:
        agent.tmux.run("copy-mode", "-t", agent.pane.pane_id)
        refused = await writer.submit("hello", acknowledged=lambda: False)
        with pytest.raises(KeysNotTaken):
            await writer.press(keys.parse("x<[Enter]>"))
        waiting = asyncio.create_task(writer.wait_ready(None))
        await asyncio.sleep(0.2)
        was_waiting = not waiting.done()
        agent.tmux.run("send-keys", "-t", agent.pane.pane_id, "-X", "cancel")
        async with asyncio.timeout(LIMIT_SECONDS):
            return refused, was_waiting, (await waiting).state

    refused, was_waiting, state = agent.use(scroll)

    assert (refused.outcome, refused.reason) == ("refused", "someone scrolls")
    assert (was_waiting, state, agent.log()) == (True, "ready", [])


def test_only_one_writer_types(start: Start) -> None:
    """Another holder of the pane's lock is waited for, and then refuses; the loop never blocks."""
    agent = start()

    async def submit(writer: PaneWriter) -> tuple[Delivery, int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.01)

        counting = asyncio.create_task(count())
        with locks.hold(agent.folder / "pane.lock"):
            result = await writer.submit("hello", acknowledged=lambda: False)
        counting.cancel()
        return result, turns

    result, turns = agent.use(submit)

    assert result == Delivery(outcome="refused", reason="another writer is typing")
    assert (turns > 3, agent.log()) == (True, [])


def test_two_prompts_at_once_do_not_mix(start: Start) -> None:
    """One is typed, and the other is refused or typed after it; neither is torn."""
    agent = start(seconds=0)

    async def submit(writer: PaneWriter) -> list[Delivery]:
        return await asyncio.gather(
            *(writer.submit(text, acknowledged=lambda: bool(agent.prompts())) for text in ("one", "two"))
        )

    results = agent.use(submit, timeouts=replace(_TIMEOUTS, lock=LIMIT_SECONDS))

    assert [result.outcome for result in results] == ["submitted", "submitted"]
    assert sorted(agent.prompts()) == ["one", "two"]


def test_interrupt_is_one_escape_for_an_agent_at_work(start: Start) -> None:
    """An idle agent gets none: there it could mean something else. A writer is not waited for."""
    agent = start(busy=True, seconds=_LONG_SECONDS)

    async def interrupt(writer: PaneWriter) -> tuple[bool, str, bool]:
        with locks.hold(agent.folder / "pane.lock"):
            first = await writer.interrupt()
        state = (await writer.wait_ready(LIMIT_SECONDS)).state
        return first, state, await writer.interrupt()

    assert agent.use(interrupt) == (True, "ready", False)
    assert agent.log() == [{"key": "Escape"}]


def test_keys_are_pressed_in_order(start: Start) -> None:
    """Literal text is never a key name or an option, and tokens are keys."""
    agent = start(seconds=0)

    async def press(writer: PaneWriter) -> None:
        await writer.press(keys.parse("-l Enter;<[Enter]>"))
        await writer.press(keys.parse("two<[Escape]>", literal=True))
        await writer.press(keys.parse("<[Enter]>"))
        async with asyncio.timeout(LIMIT_SECONDS):
            while len(agent.log()) < 2:
                await asyncio.sleep(0.01)

    agent.use(press)

    assert agent.prompts() == ["-l Enter;", "two<[Escape]>"]
