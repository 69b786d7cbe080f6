"""Typing into an agent, and finding out what became of it.

A prompt is pasted once and submitted by one Enter. Whether it was taken is never assumed: two signs
have to agree, and where they do not, the answer is `unknown`. Nothing is ever pasted twice. Killed
between paste and Enter, we leave a draft, and a draft makes the next delivery refuse.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from posthouse.errors import Conflict
from posthouse.support import crashpoints, locks
from posthouse.terminal import buffers, paste, quoting
from posthouse.terminal.client import TmuxRefused
from posthouse.terminal.control import ControlClient
from posthouse.terminal.keys import Key, Literal_
from posthouse.terminal.screen import Screen, Surface
from posthouse.terminal.screen_wait import PaneWatch
from posthouse.terminal.signs import SCROLLED, Signs, blocked, holds_text, refusal, takes_prompt

#: tmux 3.3 crashes on a paste into a dead pane, and copy mode eats keys: asked in the same breath.
_TAKES_KEYS = "#{==:#{pane_dead}#{pane_in_mode},00}"
_LOCK_RETRY_SECONDS = 0.02
#: CLIs take what follows an Escape sooner than some 50 ms for the rest of one key: a paste would lose its
#: mark and be taken for typing, a letter would be a shortcut.
_ALONE_SECONDS = 0.15
#: A transcript grows without a sign on the screen, so a pending prompt is also looked after by time.
_LOOK_AGAIN_SECONDS = 0.1
#: A composer that has stood still this long holds what it will hold, recognisable or not.
_STANDS_STILL_SECONDS = 0.5

_SHOWN = "shown"
_NOT_SHOWN = "the text did not appear in the composer"


class KeysNotTaken(Conflict):
    """The pane's program ended, or a person scrolls in it; these keys were not sent."""

    code = "keys_not_taken"

    def __init__(self, pane_id: str) -> None:
        super().__init__(f"pane {pane_id} takes no keys: its program ended, or somebody scrolls in it")


class Hands(Protocol):
    """What a typist must know of a CLI."""

    @property
    def settle_seconds(self) -> float:
        """How long after a paste the TUI ignores Enter."""

    def guard(self, prompt: str) -> str:
        """The text to paste so that the CLI takes *prompt* as a prompt; raises when there is none."""

    def read_surface(self, screen: Screen) -> Surface:
        """What one capture means. Pure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of a prompt.

    `refused`: nothing was typed. `submitted`: two signs say that the agent took it. `unknown`: it was
    typed and may have been taken.
    """

    outcome: Literal["submitted", "refused", "unknown"]
    reason: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long each step may take, in seconds."""

    lock: float = 10.0
    #: Gemini chews on a line of 100 KB for half a minute and paints nothing. Who gives up before it is shown
    #: leaves a paste behind that lands in the next prompt.
    shown: float = 60.0
    #: After the first Enter; an idle agent that still holds the text then gets a second one.
    confirm: float = 3.0
    #: After that, before it is called unknown: on a busy machine a CLI takes its time.
    doubt: float = 20.0


DEFAULT_PATIENCE = Patience()


class Typist:
    """The one writer of a pane: holds its lock while typing."""

    def __init__(
        self,
        client: ControlClient,
        pane_id: str,
        hands: Hands,
        *,
        lock_path: Path,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._client = client
        self._pane_id = pane_id
        self._hands = hands
        self._watch = PaneWatch(client, pane_id, hands.read_surface)
        self._lock_path = lock_path
        self._patience = patience

    async def screen(self) -> Screen:
        return await self._watch.screen()

    async def surface(self) -> Surface:
        return await self._watch.surface()

    def nudge(self) -> None:
        """Look now: a hook reported in, or the transcript grew."""
        self._watch.nudge()

    async def wait_ready(self, seconds: float | None) -> Surface:
        """The surface once a prompt can be typed or the agent has ended; after *seconds*, as it is then."""

        def judge(screen: Screen, surface: Surface) -> Surface | None:
            is_over = surface.state == "exited" or (takes_prompt(surface) and not screen.in_mode)
            return surface if is_over else None

        return await self._watch.until(judge, seconds=seconds) or await self.surface()

    async def submit(
        self,
        prompt: str,
        *,
        acknowledged: Callable[[], bool],
        while_busy: bool = False,
        on_typed: Callable[[], None] = lambda: None,
    ) -> Delivery:
        """Give the agent *prompt*. *acknowledged* says whether its transcript or a hook shows it.

        With *while_busy* a working agent may queue it. *on_typed* is called once the text is in the terminal.

        Raises:
            InvalidInput: The prompt cannot be typed for this CLI; nothing was.
            TextNotPassed: tmux could not be given the prompt; nothing was typed.
            NoServer, TmuxFrozen: The prompt may have been typed.
        """
        text = paste.pasteable(self._hands.guard(prompt))
        try:
            async with self._writing():
                return await self._deliver(text, acknowledged, while_busy=while_busy, on_typed=on_typed)
        except locks.LockHeld:
            return Delivery(outcome="refused", reason="another writer is typing")

    async def interrupt(self) -> bool:
        """Press Escape once if the agent is at work; False when there is nothing to interrupt.

        It does not wait for whoever is typing: one key that only a working agent gets.

        Raises:
            KeysNotTaken: A person scrolls.
        """
        if not (await self.surface()).is_working:
            return False
        await self._send("Escape")
        return True

    async def press(self, parts: Sequence[Literal_ | Key]) -> None:
        """Type *parts* from left to right, with no claim about what they do.

        Raises:
            KeysNotTaken: The program ended or a person scrolls; earlier parts may have been typed.
            TextNotPassed: As `submit`; earlier parts may have been typed.
            LockHeld: Somebody else is typing.
        """
        async with self._writing():
            for part in parts:
                if isinstance(part, Key):
                    await self._send(part.name)
                elif not await self._paste(part.text):
                    raise KeysNotTaken(self._pane_id)

    async def _deliver(
        self,
        text: str,
        acknowledged: Callable[[], bool],
        *,
        while_busy: bool,
        on_typed: Callable[[], None],
    ) -> Delivery:
        screen = await self.screen()
        before = self._watch.meaning(screen)
        if reason := refusal(screen, before, while_busy=while_busy):
            return Delivery(outcome="refused", reason=reason, evidence=before.evidence)
        if not await self._paste(text, "-p"):
            return Delivery(outcome="refused", reason=await self._why_no_keys())
        crashpoints.reach("prompt pasted")
        on_typed()
        verdict = await self._until_shown(text)
        if verdict != _SHOWN:
            return Delivery(outcome="unknown", reason=verdict)
        await asyncio.sleep(self._hands.settle_seconds)
        signs = Signs(acknowledged, was_busy=before.is_working)
        try:
            return await self._enter(signs)
        except KeysNotTaken:
            return Delivery(outcome="unknown", reason=await self._why_no_keys(), evidence=signs.seen)

    async def _paste(self, text: str, *flags: str) -> bool:
        """Paste *text*; False when the pane takes nothing and nothing was pasted.

        With the flag `-p` the program sees that it is a paste, otherwise it is as if typed.
        """
        buffer = buffers.new_name()
        words = ("paste-buffer", "-d", *flags, "-r", "-b", buffer, "-t", self._pane_id)
        with buffers.file_with(text, lock_path=self._lock_path) as path:
            try:
                _, is_pasted = await asyncio.gather(
                    self._client.command("load-buffer", "-b", buffer, quoting.verbatim(str(path))),
                    self._client.command_if(self._pane_id, _TAKES_KEYS, words),
                )
            except TmuxRefused as error:
                # tmux 3.3a does not say through a control client that it can't read a file.
                if error.words.startswith("no buffer"):
                    raise buffers.TextNotPassed(f"tmux can't read {path}, so nothing was typed") from error
                raise
        if not is_pasted:
            await self._client.command("delete-buffer", "-b", buffer)
        return is_pasted

    async def _until_shown(self, text: str) -> str:
        """`_SHOWN` once the composer holds *text*, else why it does not."""
        loop = asyncio.get_running_loop()
        last, since = "", loop.time()

        def judge(_screen: Screen, surface: Surface) -> str | None:
            nonlocal last, since
            composer = surface.composer or ""
            if composer != last:
                last, since = composer, loop.time()
            if surface.state == "exited":
                return "exited"
            if surface.state == "blocked":
                return blocked(surface)
            stands_still = composer and loop.time() - since >= _STANDS_STILL_SECONDS
            return _SHOWN if stands_still or paste.shows(composer, text) else None

        found = await self._watch.until(
            judge, seconds=self._patience.shown, look_again_seconds=_LOOK_AGAIN_SECONDS
        )
        return found or _NOT_SHOWN

    async def _enter(self, signs: Signs) -> Delivery:
        """Press Enter until two signs agree; a second time only while an idle agent still holds the text."""
        await self._send("Enter")
        crashpoints.reach("prompt entered")
        if not await self._confirmed(signs, self._patience.confirm):
            if holds_text(await self.surface()):
                await self._send("Enter")
            await self._confirmed(signs, self._patience.doubt)
        if signs.agree:
            return Delivery(outcome="submitted", reason="confirmed", evidence=signs.seen)
        return Delivery(outcome="unknown", reason="unconfirmed", evidence=signs.seen)

    async def _confirmed(self, signs: Signs, seconds: float) -> bool:
        clock = asyncio.get_running_loop().time

        def judge(_screen: Screen, surface: Surface) -> bool | None:
            signs.look(surface, clock())
            return True if signs.agree else None

        found = await self._watch.until(judge, seconds=seconds, look_again_seconds=_LOOK_AGAIN_SECONDS)
        return found is True

    async def _why_no_keys(self) -> str:
        return SCROLLED if (await self.screen()).in_mode else "exited"

    async def _send(self, *keys: str) -> None:
        words = ("send-keys", "-t", self._pane_id, *keys)
        if not await self._client.command_if(self._pane_id, _TAKES_KEYS, words):
            raise KeysNotTaken(self._pane_id)
        if keys == ("Escape",):
            await asyncio.sleep(_ALONE_SECONDS)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Hold the pane's lock, without ever blocking the loop for it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience.lock
        with ExitStack() as held:
            while True:
                try:
                    held.enter_context(locks.hold(self._lock_path))
                    break
                except locks.LockHeld:
                    if loop.time() >= deadline:
                        raise
                await asyncio.sleep(_LOCK_RETRY_SECONDS)
            yield
