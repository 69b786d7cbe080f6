"""`agents … mailbox register|unregister|status`: the mailbox that one agent is bound to."""

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
        help="for an existing mailbox of the address: reuse, delete or stash it (default: safe)",
    )


def binding_arguments(parser: Parser) -> None:
    """Add the mailbox options. `agents launch` has them with a prefix."""
    parser.add_argument(
        "--transport",
        choices=("filesystem", "stalwart"),
        default="filesystem",
        help="the transport (default: filesystem)",
    )
    parser.add_argument(
        "--address", metavar="ADDRESS", help="the mail address (default: NAME@houmao.localhost)"
    )
    parser.add_argument("--principal-id", metavar="ID", help="the owner's id (default: HOUMAO-NAME)")
    parser.add_argument("--mailbox-root", type=Path, metavar="DIR", help="the mailbox root")
    parser.add_argument("--mailbox-path", type=Path, metavar="DIR", help="a private folder outside the root")
    parser.add_argument("--base-url", metavar="URL", help="the URL of a stalwart server")


def register(call: Call) -> int:
    """Bind a running or stopped agent to a mailbox; creates the mailbox if missing."""
    session = turns.session_of(call.agent())
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
    owner = mailbox_binding.MailboxOwner(
        agent_name=session.agent_name,
        default_root=call.wiring.roots.mailbox,
        working_directory=call.wiring.working_directory,
    )
    binding = mailbox_binding.resolve(mailbox_binding.parse_declaration(payload), owner, moment=clock.now())
    mailbox.ensure_mailbox(session, binding, mode=arguments.mode)
    bound = mailbox_binding.bind(session, binding, call.wiring.registry)
    for text in mail_skills.install(bound):
        call.output.warning(text)
    return _show(call, bound, "register")


def unregister_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--mode",
        choices=("deactivate", "purge"),
        default="deactivate",
        help="keep the mailbox inactive, or delete it; messages stay in the root (default: deactivate)",
    )


def unregister(call: Call) -> int:
    """Unbind the agent from its mailbox."""
    session = turns.session_of(call.agent())
    binding = mailboxes.binding_of(session, call.prog)
    # The manifest first: an agent without a mailbox is valid, one bound to a missing mailbox is not.
    unbound = mailbox_binding.bind(session, None, call.wiring.registry)
    registration = mailboxes.deregister(binding, call.arguments.mode)
    value = _value(unbound, "unregister") | {
        "address": binding.address,
        "mode": call.arguments.mode,
        "registration_id": registration,
    }
    call.output.result(value, f"{session.agent_name} is no longer bound to {binding.address}")
    return 0


def status(call: Call) -> int:
    """Show the agent's mailbox and whether it can be used."""
    return _show(call, turns.session_of(call.agent()), "status")


def _show(call: Call, session: Session, operation: str) -> int:
    value = _value(session, operation)
    if not value["registered"]:
        call.output.result(value, f"{session.agent_name} has no mailbox")
        return 0
    problem = value["problem"]
    pairs = [(name, str(value[name])) for name in _SHOWN]
    call.output.result(value, fields([*pairs, ("state", problem or "can be used")]))
    return 0


def _value(session: Session, operation: str) -> dict[str, Any]:
    binding = session.manifest.launch_plan.mailbox
    value: dict[str, Any] = {
        "schema_version": 1,
        "operation": operation,
        "agent_name": session.agent_name,
        "agent_id": session.agent_id,
        "registered": binding is not None,
        **dict.fromkeys((*_SHOWN, "mailbox", "problem")),
    }
    if binding is None:
        return value
    from posthouse.mailbox import location

    named = {name: getattr(binding, name) for name in _SHOWN if name != "transport"}
    value |= {**named, "transport": location.transport_name(binding)}
    try:
        value["mailbox"] = location.describe(binding)
    except PosthouseError as error:
        value["problem"] = str(error)
    return value
