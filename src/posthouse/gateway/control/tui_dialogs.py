"""Answers what a TUI asks, and finds out whether the dialog went away."""

import asyncio
from datetime import datetime
from typing import Literal

from posthouse.contracts import gateway_tui_http as wire
from posthouse.errors import Conflict
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control import dialog_choice
from posthouse.gateway.control.keys import WAIT_SECONDS
from posthouse.gateway.control.tui import TuiControl
from posthouse.support import clock
from posthouse.terminal.screen import Choice
from posthouse.tracking.tracker import Belief

#: A CLI takes a dialog away within a moment; a busy machine makes it a long one.
_GONE_SECONDS = 3.0

#: Who answered.
By = Literal["caller", "rule"]


class NothingAsks(Conflict):
    """No dialog is open."""

    code = "nothing_asks"


class OtherDialog(Conflict):
    """Another dialog is open than the one that was to be answered; nothing was pressed."""

    code = "other_dialog"


class TuiAnswers:
    """Answers dialogs, one at a time."""

    def __init__(self, gateway: Surroundings, tui: TuiControl) -> None:
        self._gateway = gateway
        self._tui = tui

    async def answer(self, order: wire.AnswerDialog, *, by: By = "caller") -> wire.DialogAnswered:
        """Make a choice in the open dialog. Two answers at once do not meet: the second looks again.

        Raises:
            NoTui: The agent is headless.
            ReconciliationRequired, AgentUnavailable: The agent may not be asked.
            NothingAsks, OtherDialog: That dialog is not open; nothing was pressed.
            UnknownChoice: It offers no such choice.
            NoKeys, SlotTaken, KeysNotTaken: It could not be pressed.
        """
        self._tui.require()
        await self._gateway.admit()
        async with self._gateway.slot.keys(within_seconds=WAIT_SECONDS):
            asked = await self._open_dialog(order.dialog)
            choice = dialog_choice.find(order.choice, asked.verdict.choices)
            pressed_at = clock.now()
            await self._gateway.adapter.press(dialog_choice.presses(choice))
        is_gone = await self._is_gone(asked, pressed_at)
        return self._answered(asked, choice, is_gone=is_gone, by=by)

    async def _open_dialog(self, name: str | None) -> Belief:
        belief = await self._tui.look()
        if belief.verdict.state != "blocked":
            raise NothingAsks(f"nothing is asked; the TUI is {belief.verdict.state}")
        if name is not None and name != belief.verdict.dialog:
            raise OtherDialog(
                f"the open dialog is {belief.verdict.dialog!r}, not {name!r}; nothing was pressed"
            )
        return belief

    async def _is_gone(self, asked: Belief, pressed_at: datetime) -> bool:
        """Whether another screen, or another question, took the dialog's place."""
        gone = asyncio.Event()

        def look(now: Belief) -> None:
            if _essence(now) != _essence(asked) or _is_asked_again(now, pressed_at):
                gone.set()

        with self._tui.telling(look):
            try:
                async with asyncio.timeout(_GONE_SECONDS):
                    await gone.wait()
            except TimeoutError:
                look(await self._tui.look())
        return gone.is_set()

    def _answered(self, asked: Belief, choice: Choice, *, is_gone: bool, by: By) -> wire.DialogAnswered:
        outcome: Literal["answered", "unconfirmed"] = "answered" if is_gone else "unconfirmed"
        self._gateway.journal.add(
            "dialog_answered",
            dialog=asked.verdict.dialog,
            choice=dialog_choice.told_as(choice),
            by=by,
            outcome=outcome,
        )
        return wire.DialogAnswered(
            dialog=asked.verdict.dialog,
            choice=wire.BeliefChoice(number=choice.number, label=choice.label, selected=choice.is_selected),
            outcome=outcome,
            state=self._tui.believed.verdict.state,
        )


def _essence(belief: Belief) -> tuple[object, ...]:
    """What tells one open dialog from another; moving the selection does not."""
    verdict = belief.verdict
    return verdict.state, verdict.dialog, tuple(one.label for one in verdict.choices)


def _is_asked_again(belief: Belief, pressed_at: datetime) -> bool:
    hook = belief.evidence.get("hook")
    return hook is not None and hook.says == "asking" and hook.since > pressed_at
