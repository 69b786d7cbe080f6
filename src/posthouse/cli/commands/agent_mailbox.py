"""`agents … mailbox register|unregister|status`: which mailbox one agent is bound to."""

from pathlib import Path
from typing import Any

from posthouse.cli import mailboxes, turns
from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import fields
from posthouse.errors import PosthouseError
from posthouse.gateway_lifecycle import mailbox
from posthouse.sessions import mail_skills, mailbox_binding
from posthouse.sessions.session import Session
from posthouse.support import clock

_SHOWN = ("transport", "principal_id", "address", "bindings_version")


def register_arguments(parser: Parser) -> None:
    binding_arguments(parser)
    parser.add_argument(
        "--mode",
        choices=("safe", "force", "stash"),
        default="safe",
        help="what becomes of a mailbox that the address has: taken up, thrown away, put aside",
    )


def binding_arguments(parser: Parser) -> None:
    """The options that `agents launch` has too, there with a prefix."""
    parser.add_argument("--transport", choices=("filesystem", "stalwart"), default="filesystem")
    parser.add_argument("--address", metavar="ADDRESS", help="default: NAME@houmao.localhost")
    parser.add_argument("--principal-id", metavar="ID", help="default: HOUMAO-NAME")
    parser.add_argument("--mailbox-root", type=Path, metavar="DIR", help="where the mail lies")
    parser.add_argument("--mailbox-path", type=Path, metavar="DIR", help="an own folder outside the root")
    parser.add_argument("--base-url", metavar="URL", help="of a stalwart server")


def register(call: Call) -> int:
    """Bind a running or stopped agent to a mailbox, which is made when it is not there."""
    found = turns.session_of(call.agent())
    arguments = call.arguments
    payload = {
        "transport": arguments.transport,
        "address": arguments.address,
        "principal_id": arguments.principal_id,
        "filesystem_root": arguments.mailbox_root
        and str(call.wiring.working_directory / arguments.mailbox_root),
        "mailbox_path": arguments.mailbox_path
        and str(call.wiring.working_directory / arguments.mailbox_path),
        "base_url": arguments.base_url,
    }
    owner = mailbox_binding.Owner(
        agent_name=found.agent_name,
        default_root=call.wiring.roots.mailbox,
        working_directory=call.wiring.working_directory,
    )
    binding = mailbox_binding.resolve(mailbox_binding.declared(payload), owner, moment=clock.now())
    mailbox.provide(found, binding, mode=arguments.mode)
    bound = mailbox_binding.bind(found, binding, call.wiring.registry)
    for text in mail_skills.provide(bound):
        call.output.warning(text)
    return _show(call, bound, "register")


def unregister_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--mode",
        choices=("deactivate", "purge"),
        default="deactivate",
        help="keep the mailbox for later, or remove it; messages stay in the root (default: deactivate)",
    )


def unregister(call: Call) -> int:
    """Take the agent's mailbox away from it."""
    found = turns.session_of(call.agent())
    binding = mailboxes.binding_of(found, call.prog)
    # The manifest first: an agent without a mailbox is sound, one with a mailbox that is gone is not.
    unbound = mailbox_binding.bind(found, None, call.wiring.registry)
    registration = mailboxes.withdraw(binding, call.arguments.mode)
    value = _value(unbound, "unregister") | {
        "address": binding.address,
        "mode": call.arguments.mode,
        "registration_id": registration,
    }
    call.output.result(value, f"{found.agent_name} has no mailbox any more; it had {binding.address}")
    return 0


def status(call: Call) -> int:
    """Show which mailbox the agent is bound to, and whether it can be used."""
    return _show(call, turns.session_of(call.agent()), "status")


def _show(call: Call, found: Session, operation: str) -> int:
    value = _value(found, operation)
    if not value["registered"]:
        call.output.result(value, f"{found.agent_name} has no mailbox")
        return 0
    problem = value["problem"]
    pairs = [(name, str(value[name])) for name in _SHOWN]
    call.output.result(value, fields([*pairs, ("state", problem or "can be used")]))
    return 0


def _value(found: Session, operation: str) -> dict[str, Any]:
    binding = found.manifest.launch_plan.mailbox
    value: dict[str, Any] = {
        "schema_version": 1,
        "operation": operation,
        "agent_name": found.agent_name,
        "agent_id": found.agent_id,
        "registered": binding is not None,
        **dict.fromkeys((*_SHOWN, "mailbox", "problem")),
    }
    if binding is None:
        return value
    from posthouse.mailbox import location

    named = {name: getattr(binding, name) for name in _SHOWN if name != "transport"}
    value |= {**named, "transport": location.transport_name(binding)}
    try:
        value["mailbox"] = location.located(binding)
    except PosthouseError as error:
        value["problem"] = str(error)
    return value
