"""Infers the outcome of a turn from its events. Pure.

The provider's terminal event decides; without one, a turn that we signalled was interrupted and any other
crashed. Exit codes differ between providers and show neither interruption nor failure reliably, so the code
is only reported, not interpreted.
"""

import signal
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from posthouse.contracts.events import CanonicalEvent
from posthouse.turns.folder import InterruptRecord

FinalStatus = Literal["completed", "failed", "interrupted"]

#: Limits for an answer assembled from pieces, and for an error.
_MAX_ANSWER_CHARACTERS = 4 * 1024 * 1024
_MAX_ERROR_CHARACTERS = 4000
_STDERR_LINES = 8
_ABORT_MARKERS = ("abort", "interrupt", "cancel", "error_during_execution")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEvidence:
    """The events of one turn that matter for its outcome."""

    session_id: str | None = None
    completion: CanonicalEvent | None = None
    #: All assistant messages, for providers whose terminal event does not repeat the answer.
    assistant_text: str = ""
    #: The last lines of stderr.
    stderr_tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """The outcome of an ended turn."""

    status: FinalStatus
    session_id: str | None
    answer: str | None
    error: str | None
    usage: Mapping[str, Any] | None
    #: The cost in dollars, as reported by the provider.
    cost_usd: float | None = None


def collect_evidence(events: Iterable[CanonicalEvent]) -> TurnEvidence:
    """Fold the events of a turn, in order."""
    session_id: str | None = None
    completion: CanonicalEvent | None = None
    assistant = _AssistantText()
    complaints: deque[str] = deque(maxlen=_STDERR_LINES)
    for event in events:
        session_id = session_id or event.session_id
        if event.kind == "completion":
            completion = event
        elif event.kind == "assistant":
            assistant.add(event)
        elif event.provider_event_type == "stderr":
            complaints.append(event.message)
    return TurnEvidence(
        session_id=session_id,
        completion=completion,
        assistant_text=assistant.text(),
        stderr_tail=tuple(complaints),
    )


def infer_outcome(
    evidence: TurnEvidence, *, returncode: int | None, interrupt: InterruptRecord | None
) -> TurnOutcome:
    """Infer the outcome of a turn whose program has ended."""
    completion = _Completion(evidence.completion)
    status = _status(completion, interrupt)
    return TurnOutcome(
        status=status,
        session_id=evidence.session_id,
        answer=completion.text() or evidence.assistant_text or None,
        error=_error(status, evidence, completion, returncode, interrupt),
        usage=completion.usage(),
        cost_usd=completion.cost_usd(),
    )


def _status(completion: "_Completion", interrupt: InterruptRecord | None) -> FinalStatus:
    if completion.is_success():
        return "completed"
    if interrupt and (completion.is_absent() or completion.is_abort()):
        return "interrupted"
    return "failed"


def _error(
    status: FinalStatus,
    evidence: TurnEvidence,
    completion: "_Completion",
    returncode: int | None,
    interrupt: InterruptRecord | None,
) -> str | None:
    if status == "completed":
        return None
    if status == "interrupted":
        return f"stopped on request ({interrupt.reason})" if interrupt else None
    if not completion.is_absent():
        return completion.error_text()[:_MAX_ERROR_CHARACTERS]
    words = [f"crashed: ended without a result ({_ending(returncode)})", *evidence.stderr_tail]
    return "\n".join(words)[:_MAX_ERROR_CHARACTERS]


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "exit code not known"
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"killed by signal {-returncode}"


class _Completion:
    """The terminal event, or its absence."""

    def __init__(self, event: CanonicalEvent | None) -> None:
        self._event = event
        self._data: Mapping[str, Any] = (event.data if event else None) or {}
        self._raw: Mapping[str, Any] = (event.raw_payload if event else None) or {}

    def is_absent(self) -> bool:
        return self._event is None

    def is_success(self) -> bool:
        return self._data.get("status") == "success"

    def is_abort(self) -> bool:
        """Whether the provider reports an abort rather than a failure."""
        reasons = (self._raw.get("terminal_reason"), self._data.get("stop_reason"), self._data.get("status"))
        return any(word in str(reason).lower() for reason in reasons for word in _ABORT_MARKERS)

    def text(self) -> str | None:
        text = self._data.get("result_text")
        return text if isinstance(text, str) and text else None

    def usage(self) -> Mapping[str, Any] | None:
        usage = self._data.get("usage")
        return usage if isinstance(usage, Mapping) else None

    def cost_usd(self) -> float | None:
        cost = self._data.get("total_cost_usd")
        return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None

    def error_text(self) -> str:
        errors = self._data.get("errors")
        if isinstance(errors, list) and errors:
            return "\n".join(str(error) for error in errors)
        error = self._data.get("error")
        message = error.get("message") if isinstance(error, Mapping) else error
        return str(message or self.text() or self._data.get("status") or "failed without a reason")


class _AssistantText:
    """The assistant's text: deltas are joined, messages are separate, an update replaces its message."""

    def __init__(self) -> None:
        self._messages: dict[str, str] = {}
        self._length = 0
        self._open_key: str | None = None

    def add(self, event: CanonicalEvent) -> None:
        data = event.data or {}
        text = data.get("text")
        if not isinstance(text, str) or self._length + len(text) > _MAX_ANSWER_CHARACTERS:
            return
        self._length += len(text)
        if data.get("delta") is True:
            key = self._open_key = self._open_key or f"#{len(self._messages)}"
            self._messages[key] = self._messages.get(key, "") + text
            return
        self._open_key = None
        self._messages[str(data.get("item_id") or f"#{len(self._messages)}")] = text

    def text(self) -> str:
        return "\n\n".join(text for text in self._messages.values() if text)
