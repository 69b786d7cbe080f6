"""`agents notify …`: commands and webhooks that are told when the agent finished, failed or waits."""

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


class NotTold(Unavailable):
    """The target could not be told; the message says why."""

    code = "not_told"


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--on",
        required=True,
        metavar="WHEN",
        help=f"when to tell: {', '.join(tf.OCCASIONS)}, several with commas, or all",
    )
    parser.add_argument("--webhook", metavar="URL", help="post to this http(s) address, signed")
    parser.add_argument(
        "--secret-file", metavar="FILE", help="with --webhook: what to sign with (default: a new secret)"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=30.0, metavar="S", help="how long one attempt may take (30)"
    )
    parser.add_argument(
        "run", nargs="*", metavar="COMMAND", help="after --: a program and its arguments, run without a shell"
    )


def add(call: Call) -> int:
    """Tell a command or a webhook from now on."""
    given = call.arguments
    if bool(given.webhook) == bool(given.run):
        raise UsageError("give --webhook URL, or a command behind --: … --on failed -- notify-send gpu")
    if given.secret_file and not given.webhook:
        raise UsageError("--secret-file goes with --webhook")
    kept = _files(call)
    made = kept.add(
        _occasions(given.on),
        command=given.run or None,
        url=given.webhook,
        timeout_seconds=given.timeout,
        secret=targets.read_secret(Path(given.secret_file)) if given.secret_file else None,
    )
    secret = None if made.url is None else str(kept.secret_path(made.target_id))
    told = f"{made.target_id} is told from now on"
    call.output.result(
        {**_shown(made, None), "secret_file": secret},
        told if secret is None else f"{told}; check its signatures with the secret in {secret}",
    )
    return 0


def listing(call: Call) -> int:
    """Show who is told, and how the last telling went."""
    kept = _files(call)
    found = [(target, kept.state(target.target_id)) for target in kept.read()]
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
    call.output.table(value, headings, rows, empty="nobody is told; `notify add --help` says how")
    return 0


def remove_arguments(parser: Parser) -> None:
    parser.add_argument("target", metavar="ID", help="as `notify list` shows it")


def remove(call: Call) -> int:
    """Tell it no more; its secret is forgotten."""
    target_id = call.arguments.target
    _files(call).remove(target_id)
    call.output.result({"status": "removed", "target_id": target_id}, f"{target_id} is told no more")
    return 0


def trial_arguments(parser: Parser) -> None:
    parser.add_argument("target", metavar="ID", help="as `notify list` shows it")


def trial(call: Call) -> int:
    """Tell it once, now and from here, of nothing that happened."""
    from posthouse.gateway.notifications import dispatcher, message

    around = dispatcher.surroundings_of(turns.session_of(call.agent()))
    target = around.files.find(call.arguments.target)
    told = message.trial(around.whose, target.occasions[0])
    outcome = asyncio.run(dispatcher.attempt(target, told, around))
    if not outcome.is_delivered:
        raise NotTold(f"{target.target_id} could not be told: {outcome.detail}")
    value = {"status": "delivered", "target_id": target.target_id, "detail": outcome.detail}
    call.output.result(value, fields([("delivered", target.target_id), ("detail", outcome.detail)]))
    return 0


def _files(call: Call) -> TargetFiles:
    return TargetFiles(turns.session_of(call.agent()).gateway_root)


def _occasions(given: str) -> list[tf.Occasion]:
    words = list(tf.OCCASIONS) if given == "all" else given.split(",")
    known: dict[str, tf.Occasion] = {occasion: occasion for occasion in tf.OCCASIONS}
    if unknown := [word for word in words if word not in known]:
        raise UsageError(f"--on knows {', '.join(tf.OCCASIONS)} and all, not {unknown[0]!r}")
    return sorted({known[word] for word in words}, key=tf.OCCASIONS.index)


def _shown(target: tf.Target, state: tf.TargetState | None) -> Mapping[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(target)
    return {
        **told,
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
