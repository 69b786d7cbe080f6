"""What became of a prompt: follows the turn's folder, or the queue and the agent's own transcript."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from posthouse import tools
from posthouse.cli import gateways, polling, turns
from posthouse.cli.polling import Deadline
from posthouse.cli.prompts import Question, Ticket
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

_OF_TURN: dict[str, Outcome] = {
    "completed": "success",
    "failed": "failed",
    "interrupted": "interrupted",
    "unknown": "unknown",
}
_OF_EXCHANGE: dict[str, Outcome] = {"success": "success", "interrupted": "interrupted", "error": "failed"}
_OF_RECEIPT: dict[str, Outcome] = {**_OF_TURN, "cancelled": "failed", "coalesced": "failed"}
#: One question for a receipt waits at most so long.
_RECEIPT_SECONDS = 60.0
#: How far a transcript may lag behind the screen.
_TRANSCRIPT_LAG_SECONDS = 15.0
#: The gateway still pins the chat after the turn ended; the next prompt would find it busy.
_CLOSING_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How it ended, what the agent said, and why where that needs a reason."""

    outcome: Outcome
    text: str | None = None
    detail: str | None = None
    #: The text is only the beginning: a receipt keeps no more.
    is_cut: bool = False


_TIMED_OUT = Answer(outcome="timed_out", detail="it is still at work; the agent goes on")
_STILL_WAITING = Answer(outcome="timed_out", detail="it waits in the queue until the agent is ready")


def of_turn(
    found: Session,
    ticket: Ticket,
    show: Callable[[CanonicalEvent], None] | None,
    deadline: Deadline,
) -> Answer:
    """Wait for a headless turn; *show* gets its events as they come."""
    assert ticket.turn_id is not None
    turn = Turn(found.turns_root / ticket.turn_id)
    early = _until_started(found, ticket, turn, deadline)
    if early is not None:
        return early
    state = turn.wait(deadline.left()) if show is None else turns.follow(turn, show, deadline.left())
    if state.status == "active":
        return _TIMED_OUT
    _until_closed(found, ticket)
    return Answer(outcome=_OF_TURN[state.status], text=state.answer, detail=state.error)


def of_transcript(found: Session, ticket: Ticket, question: Question, deadline: Deadline) -> Answer:
    """Wait until the agent's transcript shows what became of a prompt that was typed without a gateway."""
    lag = Deadline(_TRANSCRIPT_LAG_SECONDS)
    for _ in deadline.looks():
        # Asked before the transcript is read, so that what the program wrote last counts.
        why_gone = _why_gone(found)
        exchange = _exchange(found, ticket, question)
        if exchange is not None and exchange.outcome is not None:
            return Answer(outcome=_OF_EXCHANGE[exchange.outcome], text=exchange.answer)
        if why_gone is not None:
            return Answer(outcome="unknown", detail=why_gone)
        if exchange is None and lag.has_passed:
            return Answer(outcome="unknown", detail="the agent's transcript does not show the prompt")
    return _TIMED_OUT


def _why_gone(found: Session) -> str | None:
    """Why the program that got the prompt is gone; None while it runs."""
    try:
        pane = terminal.agent_pane(found.tmux, found.tmux_session_name)
    except (NoServer, terminal.NoAgentPane):
        return "the agent's terminal is gone"
    except TmuxRefused as error:
        if not error.is_not_found:
            raise
        return "the agent's terminal is gone"
    if pane.dead:
        return f"the agent's program ended{pane.ending}"
    if found.manifest.runtime.agent_pid not in (None, pane.pid):
        return "another program has taken the place of the agent's"
    return None


def told_by(client: "GatewayClient", request_id: str, deadline: Deadline) -> Answer | None:
    """How a request ended, as its gateway tells within a minute; None: it goes on, and so may the caller."""
    left = deadline.left()
    wait_seconds = _RECEIPT_SECONDS if left is None else min(left, _RECEIPT_SECONDS)
    receipt = client.receipt(request_id, wait_seconds=wait_seconds)
    if (outcome := _OF_RECEIPT.get(receipt["state"])) is not None:
        result = receipt["result"] or {}
        return Answer(
            outcome=outcome,
            text=result.get("answer"),
            detail=receipt["error"],
            is_cut=result.get("answer_is_cut", False),
        )
    if deadline.has_passed:
        return _TIMED_OUT if receipt["state"] == "running" else _STILL_WAITING
    return None


def of_receipt(wiring: Wiring, found: Session, ticket: Ticket, deadline: Deadline) -> Answer:
    """Wait for the end of a request that may have been made long ago."""
    assert ticket.request_id is not None
    while (client := gateways.client_of(wiring, found)) is not None:
        answer = told_by(client, ticket.request_id, deadline)
        if answer is not None:
            if answer.outcome != "timed_out":
                _until_closed(found, ticket)
            return answer
    return _gone(ticket.request_id)


def _until_started(found: Session, ticket: Ticket, turn: Turn, deadline: Deadline) -> Answer | None:
    order = Folder(found.turns_root / turn.turn_id).order
    for _ in deadline.looks():
        if order.exists():
            return None
        if ticket.carrier is not None and ticket.carrier.is_over:
            ticket.carrier.finish()
        early = _without_turn(found, ticket.request_id)
        if early is not None:
            return early
    return _TIMED_OUT if ticket.request_id is None else _STILL_WAITING


def _without_turn(found: Session, request_id: str | None) -> Answer | None:
    """The answer of a request that ended before the agent got it, or that nobody carries out."""
    if request_id is None:
        return None
    row = polling.row(found.gateway_root, request_id)
    if row is not None and row.is_over:
        return Answer(outcome="failed", detail=row.error or f"the request was {row.state}")
    if gateways.process_of(found) is None:
        return _gone(request_id)
    return None


def _gone(request_id: str) -> Answer:
    return Answer(
        outcome="unknown", detail=f"the gateway went away; request {request_id} is kept for the next one"
    )


def _until_closed(found: Session, ticket: Ticket) -> None:
    """Let whoever carried the turn out finish its book-keeping."""
    if ticket.carrier is not None:
        ticket.carrier.join(_CLOSING_SECONDS)
    if ticket.request_id is None:
        return
    for _ in Deadline(_CLOSING_SECONDS).looks():
        row = polling.row(found.gateway_root, ticket.request_id)
        if (row is not None and row.is_over) or gateways.process_of(found) is None:
            return


def _exchange(found: Session, ticket: Ticket, question: Question) -> Exchange | None:
    """The exchange that is this prompt: the first with its text since it was typed.

    Another caller may give an equal prompt before or after it, and never while it is being typed.
    """
    launch = start.launch_of(found)
    tool = tools.load(found.manifest.tool)
    typed_at = ticket.carrier.typed_at_utc if ticket.carrier is not None else None
    since = clock.parse(typed_at or ticket.asked_at_utc)
    wanted = pasteable(tool.guard(question.prompt)).strip()
    for exchange in tool.exchanges(launch.home, launch.working_directory):
        if exchange.prompt.strip() == wanted and _is_since(since, exchange.submitted_at_utc):
            return exchange
    return None


def _is_since(moment: datetime, told: str) -> bool:
    try:
        return clock.parse(told) >= moment
    except ValueError:
        return False  # a record without a time proves nothing
