"""Answers dialogs of a TUI and checks whether the dialog closed."""

import asyncio
from datetime import datetime
from typing import Literal

from posthouse.contracts import gateway_tui_http as wire
from posthouse.errors import Conflict
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control import dialog_choice
from posthouse.gateway.control.keys import WAIT_SECONDS
from posthouse.gateway.control.tui import TuiControl
from posthouse.support import clock
from posthouse.terminal.screen import Choice
from posthouse.tracking.tracker import TuiState

#: A CLI closes a dialog quickly; a busy machine takes longer.
_GONE_SECONDS = 3.0

#: Source of the answer.
AnsweredBy = Literal["caller", "rule"]


class DialogAnswerer:
    """Answers dialogs, one at a time."""

    def __init__(self, gateway: GatewayContext, tui: TuiControl) -> None:
        self._gateway = gateway
        self._tui = tui

    async def answer(self, order: wire.AnswerDialog, *, by: AnsweredBy = "caller") -> wire.DialogAnswered:
        """Make a choice in the open dialog. Concurrent answers run one at a time.

        Raises:
            InvalidInput: The agent is headless (`no_tui`) or the choice is unknown (`unknown_choice`).
            Conflict, Unavailable: The agent is not available for requests.
            Conflict: Not open (`nothing_asks`, `other_dialog`), or keys unknown (`no_keys`).
            SlotTaken, KeysNotTaken: It could not be pressed.
        """
        self._tui.require_tui()
        await self._gateway.admit()
        async with self._gateway.slot.keys(within_seconds=WAIT_SECONDS):
            asked = await self._open_dialog(order.dialog)
            choice = dialog_choice.find(order.choice, asked.inferred.choices)
            pressed_at = clock.now()
            await self._gateway.adapter.send_keys(dialog_choice.keys_for(choice))
        is_gone = await self._is_gone(asked, pressed_at)
        return self._answered(asked, choice, is_gone=is_gone, by=by)

    async def _open_dialog(self, name: str | None) -> TuiState:
        state = await self._tui.refresh()
        if state.inferred.state != "blocked":
            raise Conflict(f"no dialog is open; the TUI is {state.inferred.state}", code="nothing_asks")
        if name is not None and name != state.inferred.dialog:
            raise Conflict(
                f"the open dialog is {state.inferred.dialog!r}, not {name!r}; nothing was pressed",
                code="other_dialog",
            )
        return state

    async def _is_gone(self, asked: TuiState, pressed_at: datetime) -> bool:
        """Whether another screen or another dialog replaced it within 3 s."""
        gone = asyncio.Event()

        def check(now: TuiState) -> None:
            if _dialog_key(now) != _dialog_key(asked) or _is_asked_again(now, pressed_at):
                gone.set()

        with self._tui.subscribed(check):
            try:
                async with asyncio.timeout(_GONE_SECONDS):
                    await gone.wait()
            except TimeoutError:
                check(await self._tui.refresh())
        return gone.is_set()

    def _answered(
        self, asked: TuiState, choice: Choice, *, is_gone: bool, by: AnsweredBy
    ) -> wire.DialogAnswered:
        outcome: Literal["answered", "unconfirmed"] = "answered" if is_gone else "unconfirmed"
        self._gateway.journal.add(
            "dialog_answered",
            dialog=asked.inferred.dialog,
            choice=dialog_choice.format_choice(choice),
            by=by,
            outcome=outcome,
        )
        return wire.DialogAnswered(
            dialog=asked.inferred.dialog,
            choice=wire.DialogChoice(number=choice.number, label=choice.label, selected=choice.is_selected),
            outcome=outcome,
            state=self._tui.current.inferred.state,
        )


def _dialog_key(state: TuiState) -> tuple[object, ...]:
    """Identifies an open dialog; the selected entry is not part of it."""
    verdict = state.inferred
    return verdict.state, verdict.dialog, tuple(one.label for one in verdict.choices)


def _is_asked_again(state: TuiState, pressed_at: datetime) -> bool:
    hook = state.evidence.get("hook")
    return hook is not None and hook.value == "asking" and hook.since > pressed_at
