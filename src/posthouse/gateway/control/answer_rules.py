"""Dialogs that the user wants to be answered without being asked: nothing else ever answers by itself."""

from collections import deque
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from posthouse.contracts import gateway_tui_http as wire
from posthouse.errors import PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control.tui_dialogs import TuiAnswers
from posthouse.support import clock, files, untrusted_files
from posthouse.tracking.tracker import Belief

#: Below the session's folder.
FILE = "answer-rules.json"
_MAX_BYTES = 1 << 20
#: A dialog that comes back as often is not settled by its answer.
_MAX_ANSWERS = 30
_WITHIN = timedelta(minutes=10)


class AnswerRules:
    """The rules of one session, on disk, and who follows them."""

    def __init__(self, gateway: Surroundings, answers: TuiAnswers, folder: Path | None) -> None:
        self._gateway = gateway
        self._answers = answers
        self._path = None if folder is None else folder / FILE
        self._rules = self._read()
        #: The dialog that was answered last, so that one that stays is not answered again.
        self._answered: tuple[object, ...] | None = None
        self._times: deque[datetime] = deque(maxlen=_MAX_ANSWERS)

    def listed(self) -> wire.AnswerRules:
        return wire.AnswerRules(rules=self._rules)

    def replace(self, order: wire.AnswerRules) -> wire.AnswerRules:
        """Follow these rules from now on. They are on disk when this returns."""
        if self._path is not None:
            files.write_json(self._path, order.model_dump(mode="json"), durable=True)
        self._rules = order.rules
        self._answered = None
        self._gateway.journal.add("answer_rules_changed", dialogs=[rule.dialog for rule in order.rules])
        return self.listed()

    def believe(self, belief: Belief) -> None:
        """Answer the dialog that is open now, if a rule says so."""
        verdict = belief.verdict
        if verdict.state != "blocked":
            self._answered = None
            return
        dialog = (verdict.dialog, tuple(one.label for one in verdict.choices))
        rule = next((one for one in self._rules if one.dialog == verdict.dialog), None)
        if rule is None or dialog == self._answered or not verdict.choices:
            return
        self._answered = dialog
        if self._is_too_often():
            self._failed(
                rule, f"this was answered {_MAX_ANSWERS} times within 10 minutes, and is left alone now"
            )
        else:
            self._gateway.spawn(self._answer(rule))

    async def _answer(self, rule: wire.AnswerRule) -> None:
        order = wire.AnswerDialog(choice=rule.choice, dialog=rule.dialog)
        try:
            await self._answers.answer(order, by="rule")
        except PosthouseError as error:
            self._failed(rule, str(error))

    def _failed(self, rule: wire.AnswerRule, detail: str) -> None:
        self._gateway.journal.add("answer_rule_failed", dialog=rule.dialog, detail=detail)

    def _is_too_often(self) -> bool:
        now = clock.now()
        is_full = len(self._times) == _MAX_ANSWERS and now - self._times[0] < _WITHIN
        if not is_full:
            self._times.append(now)
        return is_full

    def _read(self) -> tuple[wire.AnswerRule, ...]:
        """The rules on disk. Rules that can't be read answer nothing, and the log says so."""
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
