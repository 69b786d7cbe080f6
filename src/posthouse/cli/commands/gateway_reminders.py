"""`agents gateway reminders …`: scheduled prompts and keys. They are lost when the gateway ends."""

from argparse import BooleanOptionalAction, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.live_gateway import client_of
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, fields

_SHOWN = ("reminder_id", "title", "mode", "delivery_kind", "ranking", "selection_state", "delivery_state")


def listing(call: Call) -> int:
    """List all reminders in delivery order."""
    value = client_of(call).reminders()
    rows = [[Cell(str(one[key])) for key in (*_SHOWN, "next_due_at_utc")] for one in value["reminders"]]
    headings = ("id", "title", "mode", "delivers", "ranking", "selection", "delivery", "due")
    call.output.table(value, headings, rows, empty="there are no reminders")
    return 0


def get_arguments(parser: Parser) -> None:
    _id_argument(parser)


def get(call: Call) -> int:
    """Show one reminder."""
    return _show(call, client_of(call).reminder(call.arguments.reminder_id))


def create_arguments(parser: Parser) -> None:
    _definition_arguments(parser, is_new=True)


def create(call: Call) -> int:
    """Create a reminder."""
    arguments = call.arguments
    _check(arguments, is_new=True)
    client = client_of(call)
    ranking = _ranking(arguments, client.reminders()["reminders"])
    definition = {"ranking": ranking, **_given(arguments)}
    value = client.create_reminders(definition)
    call.output.result(value, value["reminders"][0]["reminder_id"])
    return 0


def change_arguments(parser: Parser) -> None:
    _id_argument(parser)
    _definition_arguments(parser, is_new=False)


def change(call: Call) -> int:
    """Change a reminder; fields that are not given stay, including its time."""
    arguments = call.arguments
    _check(arguments, is_new=False)
    client = client_of(call)
    others = [one for one in client.reminders()["reminders"] if one["reminder_id"] != arguments.reminder_id]
    definition = merge(client.reminder(arguments.reminder_id), _given(arguments))
    if (ranking := _ranking(arguments, others)) is not None:
        definition["ranking"] = ranking
    return _show(call, client.put_reminder(arguments.reminder_id, definition))


def remove_arguments(parser: Parser) -> None:
    _id_argument(parser)


def remove(call: Call) -> int:
    """Delete a reminder."""
    value = client_of(call).delete_reminder(call.arguments.reminder_id)
    call.output.result(value, value["detail"])
    return 0


def merge(old: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The definition of *old* with the fields of *given*. Pure."""
    kept = {key: old[key] for key in ("mode", "title", "prompt", "send_keys", "ranking", "paused")}
    kept |= {"interval_seconds": old["interval_seconds"], "deliver_at_utc": old["next_due_at_utc"]}
    new = {**kept, **given}
    if "prompt" in given:
        new["send_keys"] = None
    if "send_keys" in given:
        new["prompt"] = None
        kept_keys = old["send_keys"] or {}
        new["send_keys"] = {**kept_keys, **given["send_keys"]}
    if "start_after_seconds" in given:
        new["deliver_at_utc"] = None
    if new["mode"] == "one_off" and "interval_seconds" not in given:
        new["interval_seconds"] = None
    return new


def _id_argument(parser: Parser) -> None:
    parser.add_argument("--reminder-id", required=True, metavar="ID", help="the reminder's id")


def _definition_arguments(parser: Parser, *, is_new: bool) -> None:
    parser.add_argument("--title", required=is_new, metavar="T", help="the reminder's title")
    parser.add_argument(
        "--mode", required=is_new, choices=("one_off", "repeat"), help="deliver once, or repeatedly"
    )
    parser.add_argument("--prompt", metavar="TEXT", help="give the agent this prompt")
    parser.add_argument("--sequence", metavar="S", help="type these raw keys, such as '<[Escape]>'")
    parser.add_argument(
        "--ensure-enter", action=BooleanOptionalAction, help="with --sequence: end with one Enter"
    )
    parser.add_argument("--ranking", type=int, metavar="N", help="the order; the smallest is delivered first")
    parser.add_argument("--before-all", action="store_true", help="rank it before all others")
    parser.add_argument("--after-all", action="store_true", help="rank it after all others")
    parser.add_argument(
        "--paused", action=BooleanOptionalAction, help="hold it and all reminders ranked after it"
    )
    parser.add_argument("--start-after-seconds", type=float, metavar="S", help="deliver it after S seconds")
    parser.add_argument("--deliver-at-utc", metavar="TIME", help="deliver it at this time (ISO-8601)")
    parser.add_argument(
        "--interval-seconds", type=float, metavar="S", help="with --mode repeat: the interval in seconds"
    )


def _check(arguments: Namespace, *, is_new: bool) -> None:
    """Refuse contradicting options; a new reminder needs one of each group."""
    groups: Sequence[tuple[str, Sequence[object]]] = (
        ("--prompt and --sequence", (arguments.prompt is not None, arguments.sequence is not None)),
        (
            "--ranking, --before-all and --after-all",
            (arguments.ranking is not None, arguments.before_all, arguments.after_all),
        ),
        (
            "--start-after-seconds and --deliver-at-utc",
            (arguments.start_after_seconds is not None, arguments.deliver_at_utc is not None),
        ),
    )
    for names, given in groups:
        count = sum(map(bool, given))
        if count > 1 or (is_new and count == 0):
            raise UsageError(f"give {'exactly' if is_new else 'at most'} one of {names}")
    if is_new and arguments.ensure_enter is not None and arguments.sequence is None:
        raise UsageError("--ensure-enter goes with --sequence")


def _given(arguments: Namespace) -> dict[str, Any]:
    """The given options by their wire names."""
    names = ("title", "mode", "prompt", "paused", "start_after_seconds", "deliver_at_utc", "interval_seconds")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    keys = {"sequence": arguments.sequence, "ensure_enter": arguments.ensure_enter}
    given_keys = {name: value for name, value in keys.items() if value is not None}
    return {**given, "send_keys": given_keys} if given_keys else given


def _ranking(arguments: Namespace, others: Sequence[Mapping[str, Any]]) -> int | None:
    """The requested ranking, relative to *others*; None if not given."""
    rankings = [int(one["ranking"]) for one in others] or [0]
    if arguments.before_all:
        return min(rankings) - 1
    if arguments.after_all:
        return max(rankings) + 1
    ranking: int | None = arguments.ranking
    return ranking


def _show(call: Call, value: Mapping[str, Any]) -> int:
    shown = (*_SHOWN, "paused", "next_due_at_utc", "interval_seconds", "blocked_by_reminder_id")
    call.output.result(value, fields([(key, str(value[key])) for key in shown if value[key] is not None]))
    return 0
