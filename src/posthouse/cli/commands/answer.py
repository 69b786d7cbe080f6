"""`agents answer` and `agents resume`: what a TUI waits for a person to decide."""

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
        "choice", nargs="*", metavar="CHOICE", help="its number, its label, or how that begins"
    )
    parser.add_argument("--dialog", metavar="NAME", help="only if this dialog is the open one")
    parser.add_argument("--always", action="store_true", help="and answer this dialog so from now on")
    parser.add_argument("--rules", action="store_true", help="show what is answered without asking")
    parser.add_argument("--forget", metavar="NAME", help="ask again about this dialog")


def answer(call: Call) -> int:
    """Answer the open dialog; without a choice, show it."""
    client, given = client_of(call), call.arguments
    choice = " ".join(given.choice)
    if given.rules or given.forget:
        return _rules(call, client)
    if not choice:
        return _show(call, client)
    asked = client.tui_belief() if given.always else {}
    value = client.answer(choice, dialog=given.dialog)
    if given.always:
        _remember(client, value, asked)
    call.output.result(value, _told(value, is_rule=given.always))
    return 0 if value["outcome"] == "answered" else 1


def resume(call: Call) -> int:
    """Let the queue go on before a usage limit ends."""
    value = client_of(call).resume_limit()
    call.output.result(value, "the queue goes on")
    return 0


def _show(call: Call, client: GatewayClient) -> int:
    belief = client.tui_belief()
    lines = [tui_state_view.in_words(belief), *tui_state_view.choices_of(belief)]
    if belief["state"] != "blocked":
        lines = [f"nothing is asked; the agent is {belief['state']}"]
    call.output.result({"state": belief["state"], "dialog": belief["dialog"]}, "\n".join(lines))
    return 0


def _rules(call: Call, client: GatewayClient) -> int:
    value = client.answer_rules()
    if forget := call.arguments.forget:
        kept = [rule for rule in value["rules"] if rule["dialog"] != forget]
        if len(kept) == len(value["rules"]):
            raise UsageError(f"no rule answers {forget!r}; `--rules` shows those there are")
        value = client.set_answer_rules(kept)
    lines = [f"{rule['dialog']}: {rule['choice']}" for rule in value["rules"]]
    call.output.result(value, "\n".join(lines) or "nothing is answered without asking")
    return 0


def _remember(client: GatewayClient, value: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Keep the answer as a rule. A dialog without a name can't be told from another."""
    name = value["dialog"]
    if not name or name == "unknown":
        raise UsageError(
            f"the dialog has no name that a rule could be about: {tui_state_view.in_words(asked)}"
        )
    others = [rule for rule in client.answer_rules()["rules"] if rule["dialog"] != name]
    client.set_answer_rules([*others, {"dialog": name, "choice": value["choice"]["label"]}])


def _told(value: Mapping[str, Any], *, is_rule: bool) -> str:
    label, name = value["choice"]["label"], value["dialog"] or "the dialog"
    if value["outcome"] != "answered":
        return f"{label!r} was pressed, but {name} is still open; look at it with `agents attach`"
    kept = "; from now on without asking" if is_rule else ""
    return f"answered {name}: {label} (the agent is {value['state']}){kept}"
