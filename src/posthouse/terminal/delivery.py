"""Prompt delivery: types into an agent's pane and determines whether the agent accepted it.

A prompt is pasted once and submitted by one Enter. Acceptance is never assumed: it needs two signs;
otherwise the outcome is `unknown`. Nothing is ever pasted twice. A process that is killed between paste
and Enter leaves a draft, and the next delivery is refused because of the draft.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from posthouse.errors import Conflict, Unavailable
from posthouse.support import crashpoints, locks
from posthouse.terminal import buffers, paste, quoting
from posthouse.terminal.client import TmuxRefused
from posthouse.terminal.control import ControlClient
from posthouse.terminal.keys import Key, LiteralText
from posthouse.terminal.screen import Screen, Surface
from posthouse.terminal.screen_wait import ScreenWaiter
from posthouse.terminal.signs import (
    SCROLLED,
    SubmissionSigns,
    accepts_prompt,
    blocked_reason,
    holds_text,
    refusal,
)

#: tmux 3.3 crashes on a paste into a dead pane, and copy mode consumes keys: checked in the same step.
_TAKES_KEYS = "#{==:#{pane_dead}#{pane_in_mode},00}"
_LOCK_RETRY_SECONDS = 0.02
#: CLIs treat input within about 50 ms after an Escape as the rest of one key: a paste would lose its marker
#: and look typed, a letter would be a shortcut.
_ESCAPE_PAUSE_SECONDS = 0.15
#: A transcript can grow without a screen change, so a pending prompt is also polled.
_POLL_SECONDS = 0.1
#: A composer without changes for this long is complete, even if the text is not recognised.
_STABLE_SECONDS = 0.5

_SHOWN = "shown"
_NOT_SHOWN = "the text did not appear in the composer"


class KeysNotTaken(Conflict):
    """The pane's program ended, or the pane is in copy mode; the keys were not sent."""

    code = "keys_not_taken"

    def __init__(self, pane_id: str) -> None:
        super().__init__(f"pane {pane_id} accepts no keys: its program ended or it is in copy mode")


class InputProfile(Protocol):
    """The properties of a CLI that typing depends on."""

    @property
    def settle_seconds(self) -> float:
        """Seconds after a paste during which the TUI ignores Enter."""

    def escape_prompt(self, prompt: str) -> str:
        """The text to paste so that the CLI reads *prompt* as a prompt; raises when that is not possible."""

    def read_surface(self, screen: Screen) -> Surface:
        """Interpret one capture. Pure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The outcome of one delivery.

    `refused`: nothing was typed. `submitted`: two signs show that the agent accepted the prompt. `unknown`:
    it was typed and may have been accepted.
    """

    outcome: Literal["submitted", "refused", "unknown"]
    reason: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryTimeouts:
    """The time limit of each step, in seconds."""

    lock: float = 10.0
    #: Gemini processes a line of 100 KB for half a minute without painting. After an earlier timeout the
    #: pasted text would end up in the next prompt.
    shown: float = 60.0
    #: After the first Enter; if an idle agent then still shows the text, Enter is sent again.
    confirm: float = 3.0
    #: After that, before the outcome is `unknown`: a CLI may be slow on a busy machine.
    late_confirm: float = 20.0


DEFAULT_TIMEOUTS = DeliveryTimeouts()


class PaneWriter:
    """The only writer of a pane: holds the pane's lock while it types."""

    def __init__(
        self,
        client: ControlClient,
        pane_id: str,
        profile: InputProfile,
        *,
        lock_path: Path,
        timeouts: DeliveryTimeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        self._client = client
        self._pane_id = pane_id
        self._profile = profile
        self._screen_waiter = ScreenWaiter(client, pane_id, profile.read_surface)
        self._lock_path = lock_path
        self._timeouts = timeouts

    async def screen(self) -> Screen:
        return await self._screen_waiter.screen()

    async def surface(self) -> Surface:
        return await self._screen_waiter.surface()

    def nudge(self) -> None:
        """Check now: a hook reported, or the transcript grew."""
        self._screen_waiter.nudge()

    async def wait_ready(self, seconds: float | None) -> Surface:
        """Wait until a prompt can be typed or the agent has ended, at most *seconds*. Returns the surface."""

        def condition(screen: Screen, surface: Surface) -> Surface | None:
            is_over = surface.state == "exited" or (accepts_prompt(surface) and not screen.in_mode)
            return surface if is_over else None

        return await self._screen_waiter.until(condition, seconds=seconds) or await self.surface()

    async def submit(
        self,
        prompt: str,
        *,
        acknowledged: Callable[[], bool],
        while_busy: bool = False,
        on_typed: Callable[[], None] = lambda: None,
    ) -> Delivery:
        """Type *prompt* and submit it. *acknowledged* returns whether the transcript or a hook shows it.

        With *while_busy* a working agent may queue it. *on_typed* is called once the text is in the terminal.

        Raises:
            InvalidInput: The prompt cannot be typed for this CLI; nothing was.
            Unavailable: `text_not_passed`: tmux did not get the text; nothing was typed. Any other code: the
                prompt may have been typed.
        """
        text = paste.pasteable(self._profile.escape_prompt(prompt))
        try:
            async with self._writing():
                return await self._deliver(text, acknowledged, while_busy=while_busy, on_typed=on_typed)
        except locks.LockHeld:
            return Delivery(outcome="refused", reason="another writer is typing")

    async def interrupt(self) -> bool:
        """Press Escape once if the agent is working; False when there is nothing to interrupt.

        Does not take the pane's lock: it sends one key, and only to a working agent.

        Raises:
            KeysNotTaken: The pane is in copy mode.
        """
        if not (await self.surface()).is_working:
            return False
        await self._send("Escape")
        return True

    async def press(self, parts: Sequence[LiteralText | Key]) -> None:
        """Type *parts* from left to right, without checking their effect.

        Raises:
            KeysNotTaken: The program ended or the pane is in copy mode; earlier parts may have been typed.
            Unavailable: As `submit`; earlier parts may have been typed.
            LockHeld: Another writer is typing.
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
        before = self._screen_waiter.surface_of(screen)
        if reason := refusal(screen, before, while_busy=while_busy):
            return Delivery(outcome="refused", reason=reason, evidence=before.evidence)
        if not await self._paste(text, "-p"):
            return Delivery(outcome="refused", reason=await self._refused_keys_reason())
        crashpoints.reach("prompt pasted")
        on_typed()
        shown = await self._until_shown(text)
        if shown != _SHOWN:
            return Delivery(outcome="unknown", reason=shown)
        await asyncio.sleep(self._profile.settle_seconds)
        signs = SubmissionSigns(acknowledged, was_busy=before.is_working)
        try:
            return await self._enter(signs)
        except KeysNotTaken:
            return Delivery(outcome="unknown", reason=await self._refused_keys_reason(), evidence=signs.seen)

    async def _paste(self, text: str, *flags: str) -> bool:
        """Paste *text*. False: the pane accepts no input and nothing was pasted.

        With the flag `-p` it is a bracketed paste, otherwise it looks typed.
        """
        buffer = buffers.new_name()
        command = ("paste-buffer", "-d", *flags, "-r", "-b", buffer, "-t", self._pane_id)
        with buffers.paste_file(text, lock_path=self._lock_path) as path:
            try:
                _, is_pasted = await asyncio.gather(
                    self._client.command("load-buffer", "-b", buffer, quoting.verbatim(str(path))),
                    self._client.command_if(self._pane_id, _TAKES_KEYS, command),
                )
            except TmuxRefused as error:
                # tmux 3.3a does not report through a control client that it can't read a file.
                if error.reason.startswith("no buffer"):
                    message = f"tmux can't read {path}, so nothing was typed"
                    raise Unavailable(message, code=buffers.TEXT_NOT_PASSED) from error
                raise
        if not is_pasted:
            await self._client.command("delete-buffer", "-b", buffer)
        return is_pasted

    async def _until_shown(self, text: str) -> str:
        """`_SHOWN` once the composer shows *text*, else the reason why not."""
        loop = asyncio.get_running_loop()
        last, since = "", loop.time()

        def condition(_screen: Screen, surface: Surface) -> str | None:
            nonlocal last, since
            composer = surface.composer or ""
            if composer != last:
                last, since = composer, loop.time()
            if surface.state == "exited":
                return "exited"
            if surface.state == "blocked":
                return blocked_reason(surface)
            is_stable = composer and loop.time() - since >= _STABLE_SECONDS
            return _SHOWN if is_stable or paste.shows(composer, text) else None

        found = await self._screen_waiter.until(
            condition, seconds=self._timeouts.shown, poll_seconds=_POLL_SECONDS
        )
        return found or _NOT_SHOWN

    async def _enter(self, signs: SubmissionSigns) -> Delivery:
        """Press Enter and wait for two signs; press it again only if an idle agent still shows the text."""
        await self._send("Enter")
        crashpoints.reach("prompt entered")
        if not await self._confirmed(signs, self._timeouts.confirm):
            if holds_text(await self.surface()):
                await self._send("Enter")
            await self._confirmed(signs, self._timeouts.late_confirm)
        if signs.is_confirmed:
            return Delivery(outcome="submitted", reason="confirmed", evidence=signs.seen)
        return Delivery(outcome="unknown", reason="unconfirmed", evidence=signs.seen)

    async def _confirmed(self, signs: SubmissionSigns, seconds: float) -> bool:
        clock = asyncio.get_running_loop().time

        def condition(_screen: Screen, surface: Surface) -> bool | None:
            signs.observe(surface, clock())
            return True if signs.is_confirmed else None

        found = await self._screen_waiter.until(condition, seconds=seconds, poll_seconds=_POLL_SECONDS)
        return found is True

    async def _refused_keys_reason(self) -> str:
        return SCROLLED if (await self.screen()).in_mode else "exited"

    async def _send(self, *keys: str) -> None:
        command = ("send-keys", "-t", self._pane_id, *keys)
        if not await self._client.command_if(self._pane_id, _TAKES_KEYS, command):
            raise KeysNotTaken(self._pane_id)
        if keys == ("Escape",):
            await asyncio.sleep(_ESCAPE_PAUSE_SECONDS)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Hold the pane's lock; waiting for it does not block the loop."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeouts.lock
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
