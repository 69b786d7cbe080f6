"""`agents prompt --port N`: a prompt through the coordination server, and what became of it."""

from dataclasses import replace
from typing import Any

from posthouse.cli import prompts
from posthouse.cli.commands import turns_via_server
from posthouse.cli.commands.via_server import built
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.outcomes import EXIT_CODES, Answer, told_by
from posthouse.cli.polling import Deadline
from posthouse.cli.prompts import Question
from posthouse.clients.server.gateway import ManagedGateway


def prompt(call: Call) -> int:
    """Give the agent a prompt, whichever way the server finds safe.

    What is waited for at a TUI, or repeated under a key, goes through its gateway, which keeps a receipt.
    """
    arguments = call.arguments
    if arguments.follow:
        raise UsageError("--follow is for agents of this machine, without --port")
    if arguments.timeout is not None and not arguments.wait:
        raise UsageError("--timeout goes with --wait")
    question = replace(prompts.question_of(call), idempotency_key=arguments.idempotency_key)
    server, ref = call.server(), call.selection.value
    if question.idempotency_key or (arguments.wait and server.agent(ref).transport == "tui"):
        return _queued(call, server.gateway(ref), question)
    accepted = server.prompt(
        ref, question.prompt, model=question.model, reasoning_level=question.reasoning_level
    )
    if not arguments.wait or accepted.headless_turn_id is None:
        call.output.result(built(accepted), accepted.headless_turn_id or accepted.request_id)
        return 0
    report = turns_via_server.ended(server, accepted.tracked_agent_id, accepted.headless_turn_id, call)
    answer = Answer(
        outcome=turns_via_server.outcome_of(report), text=report.history_summary, detail=report.error
    )
    return _answered(call, built(accepted), answer)


def _queued(call: Call, gateway: ManagedGateway, question: Question) -> int:
    accepted = gateway.submit_prompt(
        question.prompt,
        model=question.model,
        reasoning_level=question.reasoning_level,
        idempotency_key=question.idempotency_key,
    )
    if not call.arguments.wait:
        call.output.result(accepted, accepted["request_id"])
        return 0
    deadline = Deadline(call.arguments.timeout)
    while (answer := told_by(gateway, accepted["request_id"], deadline)) is None:
        pass  # each question waits for its part
    return _answered(call, accepted, answer)


def _answered(call: Call, accepted: dict[str, Any], answer: Answer) -> int:
    value = {**accepted, "outcome": answer.outcome, "answer": answer.text, "error": answer.detail}
    if call.output.is_json or answer.text:
        call.output.result(value, answer.text or "")
    if answer.is_cut:
        call.complain("this is only the beginning of the answer")
    if answer.outcome != "success":
        words = answer.outcome.replace("_", " ")
        call.complain(f"{call.selection.value}: {words}: {answer.detail or 'no reason is known'}")
    return EXIT_CODES[answer.outcome]
