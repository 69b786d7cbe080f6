"""One real TUI, launched as a user would launch it, typed into by the gateway."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from posthouse import tools
from posthouse.agent import acknowledgement
from posthouse.errors import InvalidInput
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.terminal import paste
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient
from posthouse.terminal.delivery import Delivery, PaneWriter
from posthouse.terminal.screen import Surface
from posthouse.testing.delivery.judging import Attempt
from posthouse.testing.delivery.trials import Trial
from posthouse.testing.no_session_hooks import NoSessionHooks
from posthouse.testing.tui_rig import submitted
from posthouse.testing.waiting import LIMIT_SECONDS, NeverHappened
from posthouse.tools.tool import Tool

_DRAFT = "half a thought"
_LOOK_SECONDS = 0.05
#: After this long, a key that was pressed has not been taken.
_LOST_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which agent is typed into, and how what it really got is known."""

    spec: LaunchSpec
    #: Every prompt it got so far, as it got it.
    received: Callable[[Session], Sequence[str]]
    #: A prompt that makes the agent work until it is let go on, and what does that.
    hold: Callable[[], tuple[str, Callable[[], None]]]


@contextmanager
def launched(subject: Subject, folder: Path, server: Server) -> Iterator[Session]:
    """The agent, launched into *folder*; stopped at the end with everything below it."""
    roots = Roots(registry=folder / "registry", runtime=folder / "runtime", mailbox=folder / "mailbox")
    agents = Agents(roots, Registry(roots.registry), server, NoSessionHooks())
    made = agents.launch(subject.spec)
    try:
        yield made
    finally:
        agents.stop(agents.find(agent_id=made.agent_id))


def run(
    subject: Subject, made: Session, trials: Sequence[Trial], tell: Callable[[str], None]
) -> list[Attempt]:
    """Type every trial; *tell* hears how it goes."""
    return asyncio.run(_run(subject, made, trials, tell))


async def _run(
    subject: Subject, made: Session, trials: Sequence[Trial], tell: Callable[[str], None]
) -> list[Attempt]:
    attempts = []
    async with _hands(made) as hands:
        for trial in trials:
            attempts.append(await hands.attempt(trial, subject))
            tell(f"{trial.condition}, {trial.shape}: {attempts[-1].claim} ({attempts[-1].reason})")
        await hands.rest()
        await _until_received(subject, made, attempts)
    return attempts


async def _until_received(subject: Subject, made: Session, attempts: Sequence[Attempt]) -> None:
    """Let the agent pass on what it took: it may look ready before it does, and would be stopped too soon."""
    deadline = time.monotonic() + LIMIT_SECONDS
    taken = [attempt.trial.mark for attempt in attempts if attempt.claim == "submitted"]
    while time.monotonic() < deadline:
        received = "\n".join(subject.received(made))
        if all(mark in received for mark in taken):
            return
        await asyncio.sleep(_LOOK_SECONDS)


@asynccontextmanager
async def _hands(made: Session) -> AsyncIterator["_Hands"]:
    client = await ControlClient.attach(made.tmux.server, made.tmux_session_name, output=True)
    pane = terminal.agent_pane(Tmux(made.tmux.server), made.tmux_session_name)
    tool = tools.load(made.manifest.tool)
    try:
        yield _Hands(made, client, pane.pane_id, tool)
    finally:
        await client.close()


class _Hands:
    """Types trials, and makes the pane what each trial wants it to be."""

    def __init__(self, made: Session, client: ControlClient, pane_id: str, tool: Tool) -> None:
        self._made = made
        self._client = client
        self._pane_id = pane_id
        self._tool = tool
        self._writer = PaneWriter(client, pane_id, tool, lock_path=made.pane_lock)

    async def rest(self) -> None:
        """Have nothing stand in the composer, and the agent ready.

        Raises:
            NeverHappened: It is not, for minutes.
        """
        await self._enter_until("ready")

    async def attempt(self, trial: Trial, subject: Subject) -> Attempt:
        await self.rest()
        if trial.condition == "busy":
            return await self._while_busy(trial, subject)
        if trial.condition == "draft":
            return await self._over_a_draft(trial)
        if trial.condition == "scrolled":
            return await self._while_scrolled(trial)
        return await self._submit(trial)

    async def _while_busy(self, trial: Trial, subject: Subject) -> Attempt:
        prompt, let_go = subject.hold()
        await self._keep_busy(prompt, subject)
        try:
            return await self._submit(trial, while_busy=True)
        finally:
            await asyncio.to_thread(let_go)

    async def _keep_busy(self, prompt: str, subject: Subject) -> None:
        """Have the agent work on *prompt*.

        An agent can look ready although it has just taken another prompt: then it refuses this one as soon as
        it shows that turn, and "active" says nothing about this one.
        """

        def times_received() -> int:
            return sum(prompt in text for text in subject.received(self._made))

        before = times_received()
        delivery = await submitted(self._writer, lambda: self._deliver(prompt))
        assert delivery.outcome != "refused", delivery
        await self._enter_until("active", lambda: times_received() > before)

    async def _over_a_draft(self, trial: Trial) -> Attempt:
        await self._client.command("send-keys", "-t", self._pane_id, "-l", "--", _DRAFT)
        await self._until("draft")
        attempt = await self._submit(trial)
        await self._client.command("send-keys", "-t", self._pane_id, "-N", str(len(_DRAFT)), "BSpace")
        return attempt

    async def _while_scrolled(self, trial: Trial) -> Attempt:
        await self._client.command("copy-mode", "-t", self._pane_id)
        attempt = await self._submit(trial)
        await self._client.command("send-keys", "-t", self._pane_id, "-X", "cancel")
        return attempt

    async def _enter_until(self, state: str, condition: Callable[[], bool] = lambda: True) -> None:
        """Wait for both; press Enter for a prompt that stands in the composer, and was called unknown."""
        loop = asyncio.get_running_loop()
        pressed_at = loop.time()  # a draft that was just deleted may still be shown

        async def enter(surface: Surface) -> None:
            nonlocal pressed_at
            if surface.state == "draft" and loop.time() - pressed_at >= _LOST_SECONDS:
                await self._client.command("send-keys", "-t", self._pane_id, "Enter")
                pressed_at = loop.time()

        await self._until(state, condition, meanwhile=enter)

    async def _until(
        self,
        state: str,
        condition: Callable[[], bool] = lambda: True,
        *,
        meanwhile: Callable[[Surface], Awaitable[None]] | None = None,
    ) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while (surface := await self._writer.surface()).state != state or not condition():
            if time.monotonic() > deadline:
                raise NeverHappened(f"it never was {state} as wanted; last {surface}")
            if meanwhile is not None:
                await meanwhile(surface)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _submit(self, trial: Trial, *, while_busy: bool = False) -> Attempt:
        try:
            delivery = await self._deliver(trial.prompt, while_busy=while_busy)
        except InvalidInput as error:
            return Attempt(trial=trial, claim="refused", reason=str(error))
        return Attempt(trial=trial, claim=delivery.outcome, reason=delivery.reason)

    async def _deliver(self, prompt: str, *, while_busy: bool = False) -> Delivery:
        text = paste.pasteable(self._tool.escape_prompt(prompt))
        is_taken = acknowledgement.PromptAcknowledgement(self._tool, self._made, text).check
        return await self._writer.submit(prompt, acknowledged=is_taken, while_busy=while_busy)
