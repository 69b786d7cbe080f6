"""The outcome of a prompt, from the turn's folder, the gateway's receipt or the agent's transcript."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from posthouse import tools
from posthouse.cli import gateways, polling, turns
from posthouse.cli.polling import Deadline
from posthouse.cli.prompts import PromptRequest, SubmittedPrompt
from posthouse.cli.wiring import Wiring
from posthouse.contracts.events import CanonicalEvent
from posthouse.sessions import start
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.terminal import session as terminal
from posthouse.terminal.client import NoServer, TmuxRefused
from posthouse.terminal.paste import pasteable
from posthouse.tools.tool import Exchange
from posthouse.turns.folder import Folder
from posthouse.turns.turn import Turn

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient

Outcome = Literal["success", "failed", "interrupted", "unknown", "timed_out"]
#: One exit code per outcome; 124 is what `timeout` uses.
EXIT_CODES: dict[Outcome, int] = {
    "success": 0,
    "failed": 10,
    "interrupted": 11,
    "unknown": 12,
    "timed_out": 124,
}

_TURN_OUTCOMES: dict[str, Outcome] = {
    "completed": "success",
    "failed": "failed",
    "interrupted": "interrupted",
    "unknown": "unknown",
}
_EXCHANGE_OUTCOMES: dict[str, Outcome] = {
    "success": "success",
    "interrupted": "interrupted",
    "error": "failed",
}
_RECEIPT_OUTCOMES: dict[str, Outcome] = {**_TURN_OUTCOMES, "cancelled": "failed", "coalesced": "failed"}
#: The longest wait of one receipt request.
_RECEIPT_SECONDS = 60.0
#: The longest lag of a transcript behind the screen.
_TRANSCRIPT_LAG_SECONDS = 15.0
#: After a turn the gateway still pins the chat, and is busy for the next prompt until then.
_CLOSING_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOutcome:
    """The outcome of a prompt, the agent's answer, and the reason of a failure."""

    outcome: Outcome
    text: str | None = None
    detail: str | None = None
    #: The text is truncated, as receipts keep only the beginning.
    is_cut: bool = False


_TIMED_OUT = PromptOutcome(outcome="timed_out", detail="the turn is still running")
_STILL_WAITING = PromptOutcome(outcome="timed_out", detail="the request is still queued")


def wait_for_turn(
    session: Session,
    submitted: SubmittedPrompt,
    show: Callable[[CanonicalEvent], None] | None,
    deadline: Deadline,
) -> PromptOutcome:
    """Wait for a headless turn; *show* is called with each event."""
    assert submitted.turn_id is not None
    turn = Turn(session.turns_root / submitted.turn_id)
    early = _wait_started(session, submitted, turn, deadline)
    if early is not None:
        return early
    state = turn.wait(deadline.left()) if show is None else turns.follow(turn, show, deadline.left())
    if state.status == "active":
        return _TIMED_OUT
    _wait_closed(session, submitted)
    return PromptOutcome(outcome=_TURN_OUTCOMES[state.status], text=state.answer, detail=state.error)


def wait_for_transcript(
    session: Session, submitted: SubmittedPrompt, request: PromptRequest, deadline: Deadline
) -> PromptOutcome:
    """Wait until the transcript shows the outcome of a prompt that was typed without a gateway."""
    lag = Deadline(_TRANSCRIPT_LAG_SECONDS)
    for _ in deadline.polls():
        # Checked before the transcript is read, so that the program's last output counts.
        exit_reason = _exit_reason(session)
        exchange = _find_exchange(session, submitted, request)
        if exchange is not None and exchange.outcome is not None:
            return PromptOutcome(outcome=_EXCHANGE_OUTCOMES[exchange.outcome], text=exchange.answer)
        if exit_reason is not None:
            return PromptOutcome(outcome="unknown", detail=exit_reason)
        if exchange is None and lag.has_passed:
            return PromptOutcome(outcome="unknown", detail="the agent's transcript does not show the prompt")
    return _TIMED_OUT


def _exit_reason(session: Session) -> str | None:
    """Why the program that received the prompt ended; None while it runs."""
    try:
        pane = terminal.agent_pane(session.tmux, session.tmux_session_name)
    except (NoServer, terminal.NoAgentPane):
        return "the agent's terminal is gone"
    except TmuxRefused as error:
        if not error.is_not_found:
            raise
        return "the agent's terminal is gone"
    if pane.dead:
        return f"the agent's program ended{pane.ending}"
    if session.manifest.runtime.agent_pid not in (None, pane.pid):
        return "the agent's program was replaced by another one"
    return None


def poll_receipt(client: "GatewayClient", request_id: str, deadline: Deadline) -> PromptOutcome | None:
    """Ask the gateway once, for up to a minute, how a request ended; None: it has not, call again."""
    left = deadline.left()
    wait_seconds = _RECEIPT_SECONDS if left is None else min(left, _RECEIPT_SECONDS)
    receipt = client.receipt(request_id, wait_seconds=wait_seconds)
    if (outcome := _RECEIPT_OUTCOMES.get(receipt["state"])) is not None:
        result = receipt["result"] or {}
        return PromptOutcome(
            outcome=outcome,
            text=result.get("answer"),
            detail=receipt["error"],
            is_cut=result.get("answer_is_cut", False),
        )
    if deadline.has_passed:
        return _TIMED_OUT if receipt["state"] == "running" else _STILL_WAITING
    return None


def wait_for_receipt(
    wiring: Wiring, session: Session, submitted: SubmittedPrompt, deadline: Deadline
) -> PromptOutcome:
    """Wait for the end of a request, which may be an old one."""
    assert submitted.request_id is not None
    while (client := gateways.client_of(wiring, session)) is not None:
        answer = poll_receipt(client, submitted.request_id, deadline)
        if answer is not None:
            if answer.outcome != "timed_out":
                _wait_closed(session, submitted)
            return answer
    return _gateway_gone(submitted.request_id)


def _wait_started(
    session: Session, submitted: SubmittedPrompt, turn: Turn, deadline: Deadline
) -> PromptOutcome | None:
    order = Folder(session.turns_root / turn.turn_id).order
    for _ in deadline.polls():
        if order.exists():
            return None
        if submitted.thread is not None and submitted.thread.is_over:
            submitted.thread.finish()
        early = _ended_without_turn(session, submitted.request_id)
        if early is not None:
            return early
    return _TIMED_OUT if submitted.request_id is None else _STILL_WAITING


def _ended_without_turn(session: Session, request_id: str | None) -> PromptOutcome | None:
    """The result of a request that ended without a turn, or that has no gateway; else None."""
    if request_id is None:
        return None
    row = polling.read_request(session.gateway_root, request_id)
    if row is not None and row.is_over:
        return PromptOutcome(outcome="failed", detail=row.error or f"the request was {row.state}")
    if gateways.live_instance(session) is None:
        return _gateway_gone(request_id)
    return None


def _gateway_gone(request_id: str) -> PromptOutcome:
    return PromptOutcome(
        outcome="unknown", detail=f"the gateway went away; request {request_id} is kept for the next one"
    )


def _wait_closed(session: Session, submitted: SubmittedPrompt) -> None:
    """Wait until the thread or gateway that ran the turn has finished its bookkeeping."""
    if submitted.thread is not None:
        submitted.thread.join(_CLOSING_SECONDS)
    if submitted.request_id is None:
        return
    for _ in Deadline(_CLOSING_SECONDS).polls():
        row = polling.read_request(session.gateway_root, submitted.request_id)
        if (row is not None and row.is_over) or gateways.live_instance(session) is None:
            return


def _find_exchange(session: Session, submitted: SubmittedPrompt, request: PromptRequest) -> Exchange | None:
    """The exchange of this prompt: the first with its text since it was typed.

    Other callers may submit an equal prompt before or after it, but not while it is being typed.
    """
    launch = start.launch_of(session)
    tool = tools.load(session.manifest.tool)
    typed_at = submitted.thread.typed_at_utc if submitted.thread is not None else None
    since = clock.parse(typed_at or submitted.submitted_at_utc)
    wanted = pasteable(tool.escape_prompt(request.prompt)).strip()
    for exchange in tool.exchanges(launch.home, launch.working_directory):
        if exchange.prompt.strip() == wanted and _is_since(since, exchange.submitted_at_utc):
            return exchange
    return None


def _is_since(moment: datetime, submitted_at: str) -> bool:
    try:
        return clock.parse(submitted_at) >= moment
    except ValueError:
        return False  # a record without a time does not count
