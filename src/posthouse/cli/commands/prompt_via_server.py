"""`agents prompt --port N`: a prompt through the coordination server, and its outcome."""

from dataclasses import replace
from typing import Any

from posthouse.cli import prompts
from posthouse.cli.commands import turns_via_server
from posthouse.cli.commands.via_server import to_json
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.outcomes import EXIT_CODES, PromptOutcome, poll_receipt
from posthouse.cli.polling import Deadline
from posthouse.cli.prompts import PromptRequest
from posthouse.clients.server.gateway import ManagedGateway


def prompt(call: Call) -> int:
    """Give the agent a prompt through the server.

    A TUI prompt with --wait, or one with an idempotency key, goes through its gateway, which keeps a receipt.
    """
    arguments = call.arguments
    if arguments.follow:
        raise UsageError("--follow can't be combined with --port")
    if arguments.timeout is not None and not arguments.wait:
        raise UsageError("--timeout goes with --wait")
    request = replace(prompts.read_request(call), idempotency_key=arguments.idempotency_key)
    server, ref = call.server(), call.selection.value
    if request.idempotency_key or (arguments.wait and server.agent(ref).transport == "tui"):
        return _submit_queued(call, server.gateway(ref), request)
    accepted = server.prompt(
        ref, request.prompt, model=request.model, reasoning_level=request.reasoning_level
    )
    if not arguments.wait or accepted.headless_turn_id is None:
        call.output.result(to_json(accepted), accepted.headless_turn_id or accepted.request_id)
        return 0
    report = turns_via_server.wait(server, accepted.tracked_agent_id, accepted.headless_turn_id, call)
    answer = PromptOutcome(
        outcome=turns_via_server.outcome_of(report), text=report.history_summary, detail=report.error
    )
    return _show_result(call, to_json(accepted), answer)


def _submit_queued(call: Call, gateway: ManagedGateway, request: PromptRequest) -> int:
    accepted = gateway.submit_prompt(
        request.prompt,
        model=request.model,
        reasoning_level=request.reasoning_level,
        idempotency_key=request.idempotency_key,
    )
    if not call.arguments.wait:
        call.output.result(accepted, accepted["request_id"])
        return 0
    deadline = Deadline(call.arguments.timeout)
    while (answer := poll_receipt(gateway, accepted["request_id"], deadline)) is None:
        pass  # each call waits
    return _show_result(call, accepted, answer)


def _show_result(call: Call, accepted: dict[str, Any], answer: PromptOutcome) -> int:
    value = {**accepted, "outcome": answer.outcome, "answer": answer.text, "error": answer.detail}
    if call.output.is_json or answer.text:
        call.output.result(value, answer.text or "")
    if answer.is_cut:
        call.notice("the answer is truncated")
    if answer.outcome != "success":
        words = answer.outcome.replace("_", " ")
        call.notice(f"{call.selection.value}: {words}: {answer.detail or 'unknown reason'}")
    return EXIT_CODES[answer.outcome]
