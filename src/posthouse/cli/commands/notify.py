"""`agents notify …`: commands and webhooks that are notified of an agent's events."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from posthouse.cli import turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, seconds
from posthouse.cli.output import Cell, fields
from posthouse.contracts import notification_files as tf
from posthouse.errors import Unavailable
from posthouse.gateway.notifications import targets
from posthouse.gateway.notifications.targets import TargetFiles


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--on",
        required=True,
        metavar="WHEN",
        help=f"when to notify: {', '.join(tf.OCCASIONS)}, several with commas, or all",
    )
    parser.add_argument("--webhook", metavar="URL", help="post to this http(s) address, signed")
    parser.add_argument(
        "--secret-file", metavar="FILE", help="with --webhook: the signing secret (default: a new one)"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=30.0, metavar="S", help="the timeout of one attempt (default: 30)"
    )
    parser.add_argument(
        "run", nargs="*", metavar="COMMAND", help="after --: a program and its arguments, run without a shell"
    )


def add(call: Call) -> int:
    """Add a command or a webhook as a notification target."""
    given = call.arguments
    if bool(given.webhook) == bool(given.run):
        raise UsageError("give --webhook URL, or a command after --: … --on failed -- notify-send gpu")
    if given.secret_file and not given.webhook:
        raise UsageError("--secret-file goes with --webhook")
    target_files = _target_files(call)
    target = target_files.add(
        _occasions(given.on),
        command=given.run or None,
        url=given.webhook,
        timeout_seconds=given.timeout,
        secret=targets.read_secret(Path(given.secret_file)) if given.secret_file else None,
    )
    secret = None if target.url is None else str(target_files.secret_path(target.target_id))
    text = f"{target.target_id} is notified from now on"
    call.output.result(
        {**_shown(target, None), "secret_file": secret},
        text if secret is None else f"{text}; check its signatures with the secret in {secret}",
    )
    return 0


def listing(call: Call) -> int:
    """List the notification targets with their last delivery."""
    target_files = _target_files(call)
    found = [(target, target_files.state(target.target_id)) for target in target_files.read()]
    rows = [
        [
            Cell(target.target_id),
            Cell(",".join(target.occasions)),
            Cell(_destination(target)),
            *_last(state),
        ]
        for target, state in found
    ]
    value = {"targets": [_shown(target, state) for target, state in found]}
    headings = ("id", "on", "target", "last", "detail")
    call.output.table(value, headings, rows, empty="no notification targets; see `notify add --help`")
    return 0


def remove_arguments(parser: Parser) -> None:
    parser.add_argument("target", metavar="ID", help="the target's id, from `notify list`")


def remove(call: Call) -> int:
    """Remove a target and its secret."""
    target_id = call.arguments.target
    _target_files(call).remove(target_id)
    call.output.result({"status": "removed", "target_id": target_id}, f"{target_id} is removed")
    return 0


def send_test_arguments(parser: Parser) -> None:
    parser.add_argument("target", metavar="ID", help="the target's id, from `notify list`")


def send_test(call: Call) -> int:
    """Send a test notification from this process."""
    from posthouse.gateway.notifications import dispatcher, message

    context = dispatcher.context_of(turns.session_of(call.agent()))
    target = context.files.find(call.arguments.target)
    notice = message.trial_notice(context.agent, target.occasions[0])
    outcome = asyncio.run(dispatcher.deliver(target, notice, context))
    if not outcome.is_delivered:
        raise Unavailable(f"{target.target_id} could not be notified: {outcome.detail}", code="not_told")
    value = {"status": "delivered", "target_id": target.target_id, "detail": outcome.detail}
    call.output.result(value, fields([("delivered", target.target_id), ("detail", outcome.detail)]))
    return 0


def _target_files(call: Call) -> TargetFiles:
    return TargetFiles(turns.session_of(call.agent()).gateway_root)


def _occasions(given: str) -> list[tf.Occasion]:
    words = list(tf.OCCASIONS) if given == "all" else given.split(",")
    known: dict[str, tf.Occasion] = {occasion: occasion for occasion in tf.OCCASIONS}
    if unknown := [word for word in words if word not in known]:
        raise UsageError(f"invalid --on {unknown[0]!r}: use {', '.join(tf.OCCASIONS)} or all")
    return sorted({known[word] for word in words}, key=tf.OCCASIONS.index)


def _shown(target: tf.Target, state: tf.TargetState | None) -> Mapping[str, Any]:
    text: dict[str, Any] = msgspec.to_builtins(target)
    return {
        **text,
        "kind": target.kind,
        "delivered": state.delivered if state else 0,
        "given_up": state.given_up if state else 0,
        "last": msgspec.to_builtins(state.last) if state and state.last else None,
    }


def _destination(target: tf.Target) -> str:
    import shlex

    return shlex.join(target.command) if target.command is not None else str(target.url)


def _last(state: tf.TargetState | None) -> list[Cell]:
    if state is None or state.last is None:
        return [Cell("never", "faint"), Cell("")]
    last = state.last
    tone = Cell(last.outcome, "good") if last.outcome == "delivered" else Cell("given up", "bad")
    return [tone, Cell(last.detail[:60])]
