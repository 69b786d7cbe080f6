"""`agents prompt` and `agents interrupt`."""

from dataclasses import replace

from posthouse.cli import outcomes, prompts, turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, seconds
from posthouse.cli.outcomes import EXIT_CODES, Answer
from posthouse.cli.polling import Deadline
from posthouse.cli.prompts import Question, Ticket
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session


def prompt_arguments(parser: Parser) -> None:
    prompts.prompt_arguments(parser)
    prompts.key_argument(parser)
    parser.add_argument("--wait", action="store_true", help="stay until it is answered, and print the answer")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="stay, and show what happens as it happens"
    )
    parser.add_argument("--timeout", type=seconds, metavar="S", help="with --wait: give up after S seconds")
    parser.epilog = (
        "exit code with --wait or --follow: 0 answered, 10 failed, 11 interrupted, 12 nobody can tell, "
        "124 timed out\n" + (parser.epilog or "")
    )


def prompt(call: Call) -> int:
    """Give the agent a prompt. Without --wait, the receipt is the result."""
    arguments = call.arguments
    stay = arguments.wait or arguments.follow
    if arguments.timeout is not None and not stay:
        raise UsageError("--timeout goes with --wait or --follow")
    if arguments.idempotency_key is not None and arguments.follow:
        raise UsageError("--idempotency-key goes with --wait: what happened the first time can't be followed")
    question = replace(prompts.question_of(call), idempotency_key=arguments.idempotency_key)
    agent = call.agent()
    found = prompts.running(agent, call.prog)
    deadline = Deadline(arguments.timeout)
    ticket = prompts.ask(call.wiring, found, question, deadline)
    if not stay:
        if ticket.carrier is not None:
            # Nobody else would carry it to its end.
            ticket.carrier.finish()
        return _receipt(call, agent, ticket)
    answer = _answer(call, found, ticket, question, deadline)
    return _show(call, agent, ticket, answer)


def interrupt(call: Call) -> int:
    """Interrupt the running turn; nothing running is not an error."""
    agent = call.agent()
    found = prompts.running(agent, call.prog)
    did, detail = prompts.interrupt(call.wiring, agent, found)
    call.output.result(
        {
            "success": True,
            "tracked_agent_id": agent.agent_id,
            "disposition": "accepted" if did else "no_op",
            "detail": detail,
        },
        detail,
    )
    return 0


def _answer(call: Call, found: Session, ticket: Ticket, question: Question, deadline: Deadline) -> Answer:
    is_tui = not found.manifest.is_headless
    if ticket.request_id is not None and (is_tui or question.idempotency_key is not None):
        return outcomes.of_receipt(call.wiring, found, ticket, deadline)
    if is_tui:
        return outcomes.of_transcript(found, ticket, question, deadline)
    show = turns.teller(call.output) if call.arguments.follow else None
    return outcomes.of_turn(found, ticket, show, deadline)


def _receipt(call: Call, agent: Agent, ticket: Ticket) -> int:
    value = {
        "success": True,
        "tracked_agent_id": agent.agent_id,
        "request_id": ticket.request_id,
        "request_kind": "submit_prompt",
        "disposition": "accepted",
        "detail": ticket.detail,
        "headless_turn_id": ticket.turn_id,
    }
    call.output.result(value, ticket.request_id or ticket.turn_id or ticket.detail)
    return 0


def _show(call: Call, agent: Agent, ticket: Ticket, answer: Answer) -> int:
    value = {
        "tracked_agent_id": agent.agent_id,
        "request_id": ticket.request_id,
        "headless_turn_id": ticket.turn_id,
        "outcome": answer.outcome,
        "answer": answer.text,
        "detail": answer.detail,
    }
    told_live = call.arguments.follow and ticket.turn_id is not None
    if call.output.is_json or (answer.text and not told_live):
        call.output.result(value, answer.text or "")
    if answer.is_cut:
        call.complain(
            f"this is only the beginning of the answer; all of it: {call.prog} agents last {agent.name}"
        )
    if answer.outcome != "success":
        call.complain(
            f"{agent.name}: {answer.outcome.replace('_', ' ')}: {answer.detail or 'no reason is known'}"
        )
    return EXIT_CODES[answer.outcome]
