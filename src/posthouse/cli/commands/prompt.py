"""`agents prompt` and `agents interrupt`."""

from dataclasses import replace

from posthouse.cli import outcomes, prompts, turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, seconds
from posthouse.cli.outcomes import EXIT_CODES, PromptOutcome
from posthouse.cli.polling import Deadline
from posthouse.cli.prompts import PromptRequest, SubmittedPrompt
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session


def prompt_arguments(parser: Parser) -> None:
    prompts.prompt_arguments(parser)
    prompts.key_argument(parser)
    parser.add_argument("--wait", action="store_true", help="wait for the answer and print it")
    parser.add_argument("-f", "--follow", action="store_true", help="wait, and show events live")
    parser.add_argument("--timeout", type=seconds, metavar="S", help="with --wait: give up after S seconds")
    parser.epilog = (
        "exit code with --wait or --follow: 0 answered, 10 failed, 11 interrupted, 12 unknown, "
        "124 timed out\n" + (parser.epilog or "")
    )


def prompt(call: Call) -> int:
    """Give the agent a prompt. Without --wait, print its receipt."""
    arguments = call.arguments
    stay = arguments.wait or arguments.follow
    if arguments.timeout is not None and not stay:
        raise UsageError("--timeout goes with --wait or --follow")
    if arguments.idempotency_key is not None and arguments.follow:
        raise UsageError("--idempotency-key can't be combined with --follow: use --wait")
    request = replace(prompts.read_request(call), idempotency_key=arguments.idempotency_key)
    agent = call.agent()
    session = prompts.running_session(agent, call.prog)
    deadline = Deadline(arguments.timeout)
    submitted = prompts.submit(call.wiring, session, request, deadline)
    if not stay:
        if submitted.thread is not None:
            # The thread ends with this process.
            submitted.thread.finish()
        return _show_receipt(call, agent, submitted)
    answer = _wait(call, session, submitted, request, deadline)
    return _show_result(call, agent, submitted, answer)


def interrupt(call: Call) -> int:
    """Interrupt the running turn; nothing running is not an error."""
    agent = call.agent()
    session = prompts.running_session(agent, call.prog)
    did, detail = prompts.interrupt(call.wiring, agent, session)
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


def _wait(
    call: Call, session: Session, submitted: SubmittedPrompt, request: PromptRequest, deadline: Deadline
) -> PromptOutcome:
    is_tui = not session.manifest.is_headless
    if submitted.request_id is not None and (is_tui or request.idempotency_key is not None):
        return outcomes.wait_for_receipt(call.wiring, session, submitted, deadline)
    if is_tui:
        return outcomes.wait_for_transcript(session, submitted, request, deadline)
    show = turns.event_writer(call.output) if call.arguments.follow else None
    return outcomes.wait_for_turn(session, submitted, show, deadline)


def _show_receipt(call: Call, agent: Agent, submitted: SubmittedPrompt) -> int:
    value = {
        "success": True,
        "tracked_agent_id": agent.agent_id,
        "request_id": submitted.request_id,
        "request_kind": "submit_prompt",
        "disposition": "accepted",
        "detail": submitted.detail,
        "headless_turn_id": submitted.turn_id,
    }
    call.output.result(value, submitted.request_id or submitted.turn_id or submitted.detail)
    return 0


def _show_result(call: Call, agent: Agent, submitted: SubmittedPrompt, answer: PromptOutcome) -> int:
    value = {
        "tracked_agent_id": agent.agent_id,
        "request_id": submitted.request_id,
        "headless_turn_id": submitted.turn_id,
        "outcome": answer.outcome,
        "answer": answer.text,
        "detail": answer.detail,
    }
    told_live = call.arguments.follow and submitted.turn_id is not None
    if call.output.is_json or (answer.text and not told_live):
        call.output.result(value, answer.text or "")
    if answer.is_cut:
        call.notice(f"the answer is truncated; show all of it with {call.prog} agents last {agent.name}")
    if answer.outcome != "success":
        call.notice(f"{agent.name}: {answer.outcome.replace('_', ' ')}: {answer.detail or 'unknown reason'}")
    return EXIT_CODES[answer.outcome]
