"""Answers dialogs automatically by the user's rules; no other dialog is answered automatically."""

from collections import deque
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from posthouse.contracts import gateway_tui_http as wire
from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.tui_dialogs import DialogAnswerer
from posthouse.support import clock, files, untrusted_files
from posthouse.tracking.tracker import TuiState

#: Below the session's folder.
FILE = "answer-rules.json"
_MAX_BYTES = 1 << 20
#: Rate limit: a dialog that returns this often is not resolved by its answer.
_MAX_ANSWERS = 30
_RATE_WINDOW = timedelta(minutes=10)


class DialogAutoResponder:
    """Stores the rules of one session on disk and applies them."""

    def __init__(self, gateway: GatewayContext, dialogs: DialogAnswerer, folder: Path | None) -> None:
        self._gateway = gateway
        self._dialogs = dialogs
        self._path = None if folder is None else folder / FILE
        self._rules = self._read()
        #: The dialog that was answered last; while it stays open it is not answered again.
        self._last_answered: tuple[object, ...] | None = None
        self._answered_at: deque[datetime] = deque(maxlen=_MAX_ANSWERS)

    def rules(self) -> wire.AnswerRules:
        return wire.AnswerRules(rules=self._rules)

    def replace(self, order: wire.AnswerRules) -> wire.AnswerRules:
        """Replace all rules. They are on disk when this returns."""
        if self._path is not None:
            files.write_json(self._path, order.model_dump(mode="json"), durable=True)
        self._rules = order.rules
        self._last_answered = None
        self._gateway.journal.add("answer_rules_changed", dialogs=[rule.dialog for rule in order.rules])
        return self.rules()

    def on_state(self, state: TuiState) -> None:
        """Answer the open dialog if a rule matches it."""
        verdict = state.inferred
        if verdict.state != "blocked":
            self._last_answered = None
            return
        dialog = (verdict.dialog, tuple(one.label for one in verdict.choices))
        rule = next((one for one in self._rules if one.dialog == verdict.dialog), None)
        if rule is None or dialog == self._last_answered or not verdict.choices:
            return
        self._last_answered = dialog
        if self._is_rate_limited():
            self._record_failure(
                rule, f"rate limit: {_MAX_ANSWERS} answers within 10 minutes; no further answer is given"
            )
        else:
            self._gateway.spawn(self._answer(rule))

    async def _answer(self, rule: wire.AnswerRule) -> None:
        order = wire.AnswerDialog(choice=rule.choice, dialog=rule.dialog)
        try:
            await self._dialogs.answer(order, by="rule")
        except PosthouseError as error:
            self._record_failure(rule, str(error))

    def _record_failure(self, rule: wire.AnswerRule, detail: str) -> None:
        self._gateway.journal.add("answer_rule_failed", dialog=rule.dialog, detail=detail)

    def _is_rate_limited(self) -> bool:
        now = clock.now()
        is_full = len(self._answered_at) == _MAX_ANSWERS and now - self._answered_at[0] < _RATE_WINDOW
        if not is_full:
            self._answered_at.append(now)
        return is_full

    def _read(self) -> tuple[wire.AnswerRule, ...]:
        """The rules on disk. Unreadable rules are logged and count as none."""
        if self._path is None:
            return ()
        try:
            content = untrusted_files.read_own_bytes(self._path, max_bytes=_MAX_BYTES)
            return wire.AnswerRules.model_validate_json(content).rules
        except FileNotFoundError:
            return ()
        except (OSError, ValidationError, untrusted_files.UnsafeFile) as error:
            self._gateway.log.error("answer rules can't be read", extra={"error": str(error)})
            return ()
