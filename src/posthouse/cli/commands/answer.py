"""`agents answer` and `agents resume`: the decisions that a TUI waits for."""

from collections.abc import Mapping
from typing import Any

from posthouse.cli import tui_state_view
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.live_gateway import client_of
from posthouse.cli.options import Parser
from posthouse.clients.gateway import GatewayClient


def answer_arguments(parser: Parser) -> None:
    parser.add_argument(
        "choice", nargs="*", metavar="CHOICE", help="the choice's number, label, or the start of its label"
    )
    parser.add_argument("--dialog", metavar="NAME", help="only if this dialog is open")
    parser.add_argument("--always", action="store_true", help="also keep the answer as a rule")
    parser.add_argument("--rules", action="store_true", help="show the answer rules")
    parser.add_argument("--forget", metavar="NAME", help="remove the rule for this dialog")


def answer(call: Call) -> int:
    """Answer the open dialog; without a choice, show it."""
    client, given = client_of(call), call.arguments
    choice = " ".join(given.choice)
    if given.rules or given.forget:
        return _rules(call, client)
    if not choice:
        return _show(call, client)
    before = client.tui_belief() if given.always else {}
    value = client.answer(choice, dialog=given.dialog)
    if given.always:
        _remember(client, value, before)
    call.output.result(value, _answer_text(value, is_rule=given.always))
    return 0 if value["outcome"] == "answered" else 1


def resume(call: Call) -> int:
    """Resume the queue before a usage limit ends."""
    value = client_of(call).resume_limit()
    call.output.result(value, "the queue is resumed")
    return 0


def _show(call: Call, client: GatewayClient) -> int:
    tui = client.tui_belief()
    lines = [tui_state_view.describe(tui), *tui_state_view.choices_of(tui)]
    if tui["state"] != "blocked":
        lines = [f"no dialog is open; the agent is {tui['state']}"]
    call.output.result({"state": tui["state"], "dialog": tui["dialog"]}, "\n".join(lines))
    return 0


def _rules(call: Call, client: GatewayClient) -> int:
    value = client.answer_rules()
    if forget := call.arguments.forget:
        kept = [rule for rule in value["rules"] if rule["dialog"] != forget]
        if len(kept) == len(value["rules"]):
            raise UsageError(f"no rule answers {forget!r}; `--rules` lists the rules")
        value = client.set_answer_rules(kept)
    lines = [f"{rule['dialog']}: {rule['choice']}" for rule in value["rules"]]
    call.output.result(value, "\n".join(lines) or "there are no answer rules")
    return 0


def _remember(client: GatewayClient, value: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Keep the answer as a rule. A rule needs a dialog with a name."""
    name = value["dialog"]
    if not name or name == "unknown":
        raise UsageError(f"a rule needs a dialog with a name: {tui_state_view.describe(before)}")
    others = [rule for rule in client.answer_rules()["rules"] if rule["dialog"] != name]
    client.set_answer_rules([*others, {"dialog": name, "choice": value["choice"]["label"]}])


def _answer_text(value: Mapping[str, Any], *, is_rule: bool) -> str:
    label, name = value["choice"]["label"], value["dialog"] or "the dialog"
    if value["outcome"] != "answered":
        return f"{label!r} was pressed, but {name} is still open; open it with `agents attach`"
    kept = "; kept as a rule" if is_rule else ""
    return f"answered {name}: {label} (the agent is {value['state']}){kept}"
