"""What became of a turn, judged from what it left. Pure.

The provider's terminal event decides; without one, a turn that we signalled was interrupted and any other
crashed. Exit codes differ between providers and show neither interruption nor failure reliably, so a code
is only told, never believed.
"""

import signal
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from posthouse.contracts.events import CanonicalEvent
from posthouse.turns.folder import Interrupt

Verdict = Literal["completed", "failed", "interrupted"]

#: Of an answer that only exists in pieces, and of an error.
_MAX_ANSWER_CHARACTERS = 4 * 1024 * 1024
_MAX_ERROR_CHARACTERS = 4000
_STDERR_LINES = 8
_ABORT_WORDS = ("abort", "interrupt", "cancel", "error_during_execution")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the events of one turn say about its end."""

    session_id: str | None = None
    completion: CanonicalEvent | None = None
    #: Everything the assistant said, for providers whose terminal event does not repeat it.
    said: str = ""
    #: The last lines of stderr.
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The judgement, with what a caller wants to know beside it."""

    status: Verdict
    session_id: str | None
    answer: str | None
    error: str | None
    usage: Mapping[str, Any] | None
    #: What the provider says it cost, in dollars.
    cost_usd: float | None = None


def gather(events: Iterable[CanonicalEvent]) -> Evidence:
    """Fold the events of a turn, in order."""
    session_id: str | None = None
    completion: CanonicalEvent | None = None
    speech = _Speech()
    complaints: deque[str] = deque(maxlen=_STDERR_LINES)
    for event in events:
        session_id = session_id or event.session_id
        if event.kind == "completion":
            completion = event
        elif event.kind == "assistant":
            speech.add(event)
        elif event.provider_event_type == "stderr":
            complaints.append(event.message)
    return Evidence(
        session_id=session_id, completion=completion, said=speech.text(), complaints=tuple(complaints)
    )


def judge(evidence: Evidence, *, returncode: int | None, interrupt: Interrupt | None) -> Outcome:
    """The outcome of a turn whose program has ended."""
    completion = _Completion(evidence.completion)
    status = _status(completion, interrupt)
    return Outcome(
        status=status,
        session_id=evidence.session_id,
        answer=completion.text() or evidence.said or None,
        error=_error(status, evidence, completion, returncode, interrupt),
        usage=completion.usage(),
        cost_usd=completion.cost_usd(),
    )


def _status(completion: "_Completion", interrupt: Interrupt | None) -> Verdict:
    if completion.is_success():
        return "completed"
    if interrupt and (completion.is_absent() or completion.is_abort()):
        return "interrupted"
    return "failed"


def _error(
    status: Verdict,
    evidence: Evidence,
    completion: "_Completion",
    returncode: int | None,
    interrupt: Interrupt | None,
) -> str | None:
    if status == "completed":
        return None
    if status == "interrupted":
        return f"stopped on request ({interrupt.reason})" if interrupt else None
    if not completion.is_absent():
        return completion.complaint()[:_MAX_ERROR_CHARACTERS]
    words = [f"crashed: ended without a result ({_ending(returncode)})", *evidence.complaints]
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
        """Whether the provider says that it was made to stop, rather than that something failed."""
        reasons = (self._raw.get("terminal_reason"), self._data.get("stop_reason"), self._data.get("status"))
        return any(word in str(reason).lower() for reason in reasons for word in _ABORT_WORDS)

    def text(self) -> str | None:
        text = self._data.get("result_text")
        return text if isinstance(text, str) and text else None

    def usage(self) -> Mapping[str, Any] | None:
        usage = self._data.get("usage")
        return usage if isinstance(usage, Mapping) else None

    def cost_usd(self) -> float | None:
        cost = self._data.get("total_cost_usd")
        return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None

    def complaint(self) -> str:
        errors = self._data.get("errors")
        if isinstance(errors, list) and errors:
            return "\n".join(str(error) for error in errors)
        error = self._data.get("error")
        message = error.get("message") if isinstance(error, Mapping) else error
        return str(message or self.text() or self._data.get("status") or "failed without a reason")


class _Speech:
    """What the assistant said: pieces run together, whole messages stand apart, an update replaces."""

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
