"""`agents gateway tui …`: the TUI state tracked by the gateway."""

import time
from collections.abc import Mapping
from typing import Any

from posthouse.cli import prompts, tui_state_view
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.live_gateway import client_of
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, fields

_CLEAR = "\x1b[H\x1b[2J"


def state(call: Call) -> int:
    """Show the TUI state."""
    value = client_of(call).tui_state()
    call.output.result(value, _state_text(value))
    return 0


def belief(call: Call) -> int:
    """Show the inferred TUI state, and each piece of evidence with its age."""
    value = client_of(call).tui_belief()
    call.output.result(value, _tui_text(value))
    return 0


def history_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="show at most N (default: 100; 0: all)"
    )


def history(call: Call) -> int:
    """Show the TUI state history, oldest first."""
    value = client_of(call).tui_history(limit=call.arguments.limit)
    rows = [
        [
            Cell(entry["recorded_at_utc"]),
            Cell(entry["turn"]["phase"]),
            Cell(entry["diagnostics"]["availability"]),
            Cell(entry["last_turn"]["result"]),
        ]
        for entry in value["entries"]
    ]
    call.output.table(value, ("at", "turn", "availability", "last turn"), rows, empty="no history yet")
    return 0


def watch_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--interval-seconds", type=float, default=1.0, metavar="S", help="the poll interval (default: 1.0)"
    )


def watch(call: Call) -> int:
    """Show the TUI state repeatedly until Ctrl-C."""
    import json
    import sys

    seconds = call.arguments.interval_seconds
    if not 0 < seconds < float("inf"):
        raise UsageError("invalid --interval-seconds: must be positive")
    client = client_of(call)
    while True:
        value = client.tui_state()
        if sys.stdout.isatty() and not call.output.is_json:
            call.output.write_raw(_CLEAR)
            call.output.line(_state_text(value))
        else:
            call.output.line(json.dumps(value, sort_keys=True, ensure_ascii=False))
        time.sleep(seconds)


def note_prompt_arguments(parser: Parser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the prompt (or --prompt, or stdin)")
    parser.add_argument("--prompt", metavar="TEXT", help="the prompt")
    parser.set_defaults(model=None, reasoning_level=None)


def note_prompt(call: Call) -> int:
    """Report to the gateway a prompt that was typed outside it."""
    request = prompts.read_request(call)
    value = client_of(call).note_prompt(request.prompt)
    call.output.result(value, _state_text(value))
    return 0


def _tui_text(value: Mapping[str, Any]) -> str:
    reader = value["reader"]
    pairs = [
        ("state", tui_state_view.describe(value) + (f" ({value['detail']})" if value["detail"] else "")),
        ("for", f"{value['state_age_seconds']:.1f} s"),
        ("decided by", ", ".join(value["decided_by"]) or "nothing"),
        ("last turn", value["outcome"] + (f" ({value['error_kind']})" if value["error_kind"] else "")),
        *((one["source"], f"{one['says']}, for {one['age_seconds']:.1f} s") for one in value["evidence"]),
        ("screen read by", reader["note"] or reader["pack"] or reader["tool"]),
    ]
    if value["disagreement"]:
        pairs.append(("disagreement", value["disagreement"]["words"]))
    return "\n".join([fields(pairs), *tui_state_view.choices_of(value)])


def _state_text(value: Mapping[str, Any]) -> str:
    surface, last, stability = value["surface"], value["last_turn"], value["stability"]
    stands = f"{stability['stable_for_seconds']:.1f} s" + (" (stable)" if stability["stable"] else "")
    return fields(
        [
            ("terminal", value["terminal_id"]),
            ("availability", value["diagnostics"]["availability"]),
            ("turn", value["turn"]["phase"]),
            ("accepting input", surface["accepting_input"]),
            ("draft", surface["editing_input"]),
            ("ready posture", surface["ready_posture"]),
            ("last turn", f"{last['result']} ({last['source']})"),
            ("unchanged for", stands),
        ]
    )
