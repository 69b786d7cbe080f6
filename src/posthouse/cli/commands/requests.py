"""`agents requests …`: the requests of the agent's gateway and their outcome."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from posthouse.cli import options
from posthouse.cli.context import Call
from posthouse.cli.live_gateway import client_of
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, Output, Tone, fields
from posthouse.cli.polling import Deadline
from posthouse.support import clock

STATES = ("accepted", "running", "completed", "failed", "interrupted", "cancelled", "coalesced", "unknown")
_KINDS = ("submit_prompt", "interrupt", "mail_notifier_prompt", "control_prompt", "reminder")
_STAGES = ("started", "typed", "submitted", "acknowledged")
_TONES: Mapping[str, Tone] = {
    "completed": "good",
    "running": "busy",
    "accepted": "busy",
    "coalesced": "faint",
}
#: Shorter than the gateway allows, so that Ctrl-C and a dead gateway are noticed.
_WAIT_SECONDS = 30.0
_PREVIEW = 48


def listing_arguments(parser: Parser) -> None:
    parser.add_argument("--state", choices=STATES, help="only requests in this state")
    parser.add_argument("--kind", choices=_KINDS, help="only requests of this kind")
    parser.add_argument("--since", metavar="TIME", help="only requests accepted from this time on (ISO-8601)")
    parser.add_argument(
        "--limit", type=options.non_negative, default=20, metavar="N", help="show at most N (default: 20)"
    )
    parser.add_argument("--cursor", metavar="C", help="continue the previous listing")


def listing(call: Call) -> int:
    """Show the newest requests."""
    arguments = call.arguments
    page = client_of(call).receipts(
        state=arguments.state,
        kind=arguments.kind,
        since=arguments.since,
        limit=arguments.limit,
        cursor=arguments.cursor,
    )
    rows = [_row(one) for one in page["requests"]]
    call.output.table(page, ("id", "accepted", "kind", "state", "prompt"), rows, empty="no requests")
    if page["next_cursor"] is not None:
        call.notice(f"more requests: --cursor {page['next_cursor']}")
    return 0


def show_arguments(parser: Parser) -> None:
    parser.add_argument("request_id", metavar="REQUEST", help="the request's id")


def show(call: Call) -> int:
    """Show one request with its stages."""
    receipt = client_of(call).receipt(call.arguments.request_id)
    call.output.result(receipt, format_receipt(receipt, call.output))
    return 0


def wait_arguments(parser: Parser) -> None:
    show_arguments(parser)
    parser.add_argument("--until", choices=_STAGES, help="wait for this stage instead of the end")
    parser.add_argument("--timeout", type=options.seconds, metavar="S", help="give up after S seconds")


def wait(call: Call) -> int:
    """Wait for the end of a request; exit codes as with `agents prompt --wait`."""
    from posthouse.cli.outcomes import EXIT_CODES  # slow import, needed only here

    client, deadline = client_of(call), Deadline(call.arguments.timeout)
    while True:
        left = deadline.left()
        receipt = client.receipt(
            call.arguments.request_id,
            wait_seconds=_WAIT_SECONDS if left is None else min(left, _WAIT_SECONDS),
            until=call.arguments.until,
        )
        is_there = _has_reached(receipt, call.arguments.until)
        if is_there or deadline.has_passed:
            break
    call.output.result(receipt, format_receipt(receipt, call.output))
    if not is_there:
        return EXIT_CODES["timed_out"]
    if call.arguments.until and receipt["state"] == "running":
        return 0
    match receipt["state"]:
        case "completed":
            return EXIT_CODES["success"]
        case "interrupted" | "unknown" as state:
            return EXIT_CODES[state]
        case _:
            return EXIT_CODES["failed"]


cancel_arguments = show_arguments


def cancel(call: Call) -> int:
    """Cancel a request that has not started."""
    receipt = client_of(call).cancel(call.arguments.request_id)
    call.output.result(receipt, f"request {receipt['request_id']} was cancelled")
    return 0


def format_receipt(receipt: Mapping[str, Any], output: Output) -> str:
    """One receipt as text: request, stages and result."""
    state = str(receipt["state"])
    head = [
        ("request", receipt["request_id"]),
        ("kind", receipt["kind"]),
        ("state", _coloured_state(output, state)),
    ]
    for name, title in (("turn_id", "turn"), ("reminder_id", "reminder"), ("prompt_preview", "prompt")):
        if receipt[name] is not None:
            head.append((title, _one_line(receipt[name], _PREVIEW)))
    parts = [fields(head), "", *_timeline(receipt["stages"], output)]
    if receipt["error"] is not None:
        parts += ["", f"error: {receipt['error']}"]
    return "\n".join([*parts, *_result(receipt["result"])])


def _timeline(stages: list[Mapping[str, Any]], output: Output) -> list[str]:
    """`●  12:00:01.250   +1.3 s  typed         terminal`, one line for each stage."""
    lines = []
    before: datetime | None = None
    for stage in stages:
        at = clock.parse(stage["at_utc"])
        passed = "" if before is None else _elapsed(at - before)
        moment = at.astimezone().strftime("%H:%M:%S.%f")[:-3]
        name = output.coloured(f"{stage['stage']:<13}", _TONES.get(stage["stage"], None))
        lines.append(f"  ●  {moment}  {passed:>9}  {name} {_evidence_text(stage['evidence'])}".rstrip())
        before = at
    return lines


def _elapsed(time: timedelta) -> str:
    seconds = time.total_seconds()
    return f"+{seconds * 1000:.0f} ms" if seconds < 1 else f"+{seconds:.1f} s"


def _evidence_text(evidence: Mapping[str, Any]) -> str:
    """The evidence of a stage as short text."""
    texts = [str(evidence["source"])] if "source" in evidence else []
    for name, value in evidence.items():
        if name not in ("source", "turn_id"):
            texts.append(f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return ", ".join(texts)


def _result(result: Mapping[str, Any] | None) -> list[str]:
    if result is None:
        return []
    lines = []
    if result["usage"]:
        counted = [f"{name} {value}" for name, value in result["usage"].items() if isinstance(value, int)]
        lines += ["", f"usage: {', '.join(counted)}"] if counted else []
    if result["cost_usd"] is not None:
        lines += [*([] if lines else [""]), f"cost: ${result['cost_usd']:g}"]
    if result["answer"] is not None:
        lines += ["", result["answer"] + (" […]" if result["answer_is_cut"] else "")]
    return lines


def _row(one: Mapping[str, Any]) -> list[Cell]:
    state = str(one["state"])
    return [
        Cell(one["request_id"]),
        Cell(one["accepted_at_utc"][:19] + "Z"),
        Cell(one["kind"]),
        Cell(state, _TONES.get(state, "bad")),
        Cell(_one_line(one["prompt_preview"] or "", _PREVIEW)),
    ]


def _has_reached(receipt: Mapping[str, Any], until: str | None) -> bool:
    if receipt["state"] not in ("accepted", "running"):
        return True
    reached = [stage["stage"] for stage in receipt["stages"]]
    return until is not None and any(stage in reached for stage in _STAGES[_STAGES.index(until) :])


def _coloured_state(output: Output, state: str) -> str:
    return output.coloured(state, _TONES.get(state, "bad"))


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
