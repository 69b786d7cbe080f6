"""`agents mail …`: what an agent's mailbox holds, and new mail from it."""

from pathlib import Path
from typing import Any

from posthouse.cli import mail_operations
from posthouse.cli import mail_options as options
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, fields


def resolve_live(call: Call) -> int:
    """Show which mailbox the agent has now, and the gateway that serves it."""
    from posthouse.cli import mailbox_lookup

    value = mailbox_lookup.resolve(call)
    gateway = value["gateway"]
    pairs = [
        (name, str(value[name])) for name in ("address", "principal_id", "transport", "bindings_version")
    ]
    call.output.result(value, fields([*pairs, ("gateway", gateway["base_url"] if gateway else "none")]))
    return 0


def status(call: Call) -> int:
    value = mail_operations.run(call, "status", {})
    _tell(call, value, f"{value['address']} ({value['transport']}, {value['execution_path']})")
    return 0


def listing_arguments(parser: Parser) -> None:
    options.listing(parser)


def listing(call: Call) -> int:
    return _listed(call, mail_operations.run(call, "list", options.filter_of(call.arguments)))


def check_arguments(parser: Parser) -> None:
    parser.add_argument("--unread-only", action="store_true")
    options.bounds(parser)


def check(call: Call) -> int:
    """The older way to list the inbox."""
    arguments = call.arguments
    order = {
        "box": "inbox",
        "read_state": "unread" if arguments.unread_only else "any",
        "limit": arguments.limit,
        "since": arguments.since,
    }
    return _listed(call, mail_operations.run(call, "check", order, operation="list"))


def peek_arguments(parser: Parser) -> None:
    options.one(parser)


def peek(call: Call) -> int:
    return _opened(call, "peek")


def read_arguments(parser: Parser) -> None:
    options.one(parser)


def read(call: Call) -> int:
    return _opened(call, "read")


def send_arguments(parser: Parser) -> None:
    options.recipients(parser)
    parser.add_argument("--subject", required=True)
    options.composed(parser)


def send(call: Call) -> int:
    arguments = call.arguments
    order = {"to": arguments.to, "cc": arguments.cc, "subject": arguments.subject}
    return _delivered(call, "send", order | options.composed_of(arguments, call.wiring))


def post_arguments(parser: Parser) -> None:
    parser.add_argument("--subject", required=True)
    parser.add_argument("--reply-policy", choices=("none", "operator_mailbox"), default="operator_mailbox")
    options.composed(parser)


def post(call: Call) -> int:
    """Leave a note of the operator in the agent's mailbox."""
    arguments = call.arguments
    order = {"subject": arguments.subject, "reply_policy": arguments.reply_policy}
    return _delivered(call, "post", order | options.composed_of(arguments, call.wiring))


def reply_arguments(parser: Parser) -> None:
    parser.add_argument("--message-ref", required=True, metavar="REF", help="the message that is answered")
    options.composed(parser)


def reply(call: Call) -> int:
    order = {"message_ref": call.arguments.message_ref}
    return _delivered(call, "reply", order | options.composed_of(call.arguments, call.wiring))


def mark_arguments(parser: Parser) -> None:
    options.several(parser)
    options.flags(parser)


def mark(call: Call) -> int:
    arguments = call.arguments
    given = {name: getattr(arguments, name) for name in ("read", "answered", "archived")}
    if all(value is None for value in given.values()):
        raise UsageError(
            "say what to mark: --read, --unread, --answered, --unanswered, --archived, --unarchived"
        )
    return _changed(call, "mark", {"message_refs": arguments.message_refs, **given})


def mark_read_arguments(parser: Parser) -> None:
    options.several(parser)


def mark_read(call: Call) -> int:
    """The older way to mark messages read."""
    order = {"message_refs": call.arguments.message_refs, "read": True}
    return _changed(call, "mark-read", order, operation="mark")


def move_arguments(parser: Parser) -> None:
    options.several(parser)
    parser.add_argument("--destination-box", required=True, metavar="BOX")


def move(call: Call) -> int:
    arguments = call.arguments
    order = {"message_refs": arguments.message_refs, "destination_box": arguments.destination_box}
    return _changed(call, "move", order)


def archive_arguments(parser: Parser) -> None:
    options.several(parser)


def archive(call: Call) -> int:
    return _changed(call, "archive", {"message_refs": call.arguments.message_refs})


def thread_arguments(parser: Parser) -> None:
    options.one(parser, with_box=False)


def thread(call: Call) -> int:
    """Show the conversation of a message, oldest first."""
    value = mail_operations.run(call, "thread", {"message_ref": call.arguments.message_ref})
    if value["authoritative"]:
        call.output.result(value, "\n\n".join(_letter(one) for one in value["messages"]))
    else:
        _tell(call, value, "")
    return 0


def search_arguments(parser: Parser) -> None:
    parser.add_argument("query", nargs="+", metavar="WORD", help="words that all have to be there")
    parser.add_argument("--box", metavar="BOX")
    parser.add_argument("--limit", type=options.positive, default=20, metavar="N")


def search(call: Call) -> int:
    arguments = call.arguments
    order = {"query": " ".join(arguments.query), "box": arguments.box, "limit": arguments.limit}
    return _listed(call, mail_operations.run(call, "search", order))


def save_attachment_arguments(parser: Parser) -> None:
    parser.add_argument("--message-ref", required=True, metavar="REF")
    parser.add_argument("--attachment-id", required=True, metavar="ID", help="as the message names it")
    parser.add_argument("--output", required=True, type=Path, metavar="PATH", help="a folder, or a new file")


def save_attachment(call: Call) -> int:
    """Copy an attachment to a file of one's own; nothing is overwritten."""
    arguments = call.arguments
    target = call.wiring.working_directory / arguments.output
    value = mail_operations.directly(
        call,
        lambda mail: mail.save_attachment(arguments.message_ref, arguments.attachment_id, target),
        "save-attachment",
    )
    call.output.result(value, value["path"])
    return 0


def track_arguments(parser: Parser) -> None:
    parser.add_argument("--message-ref", required=True, metavar="REF", help="a message that this agent sent")


def track(call: Call) -> int:
    """Show how far a message has come with each of its receivers."""
    from posthouse.cli import mail_tracking

    value = mail_tracking.progress(call)
    rows = [
        [Cell(one["address"]), Cell(one["step"]), Cell(one["reason"] or "")] for one in value["receivers"]
    ]
    call.output.table(value, ("receiver", "step", "why no further"), rows, empty="it has no receivers")
    return 0


def _opened(call: Call, verb: str) -> int:
    order = {"message_ref": call.arguments.message_ref, "box": call.arguments.box}
    value = mail_operations.run(call, verb, order)
    _tell(call, value, _letter(value["message"]) if value["authoritative"] else "")
    return 0


def _delivered(call: Call, verb: str, order: dict[str, Any]) -> int:
    value = mail_operations.run(call, verb, order)
    _tell(call, value, value["message"]["message_ref"] if value["authoritative"] else "")
    return 0


def _changed(call: Call, verb: str, order: dict[str, Any], *, operation: str | None = None) -> int:
    value = mail_operations.run(call, verb, order, operation=operation)
    count = value.get("message_count", 0)
    _tell(call, value, f"{count} {'message' if count == 1 else 'messages'}")
    return 0


def _listed(call: Call, value: dict[str, Any]) -> int:
    if not value["authoritative"]:
        _tell(call, value, "")
        return 0
    rows = [
        [
            Cell("*" if one["unread"] else ""),
            Cell(one["created_at_utc"]),
            Cell(one["sender"]["address"]),
            Cell(one["subject"]),
            Cell(one["message_ref"], "faint"),
        ]
        for one in value["messages"]
    ]
    call.output.table(value, ("new", "time", "from", "subject", "message_ref"), rows, empty="no messages")
    return 0


def _tell(call: Call, value: dict[str, Any], text: str) -> None:
    if not value["authoritative"]:
        text = f"{value['status']}: {value['request_id']}; look at the mailbox to see what came of it"
    call.output.result(value, text)


def _letter(one: dict[str, Any]) -> str:
    pairs = [
        ("from", one["sender"]["address"]),
        ("to", ", ".join(party["address"] for party in one["to"])),
        ("subject", one["subject"]),
        ("time", one["created_at_utc"]),
        ("message_ref", one["message_ref"]),
    ]
    pairs += [("attachment", f"{file['attachment_id']} {file['label'] or ''}") for file in one["attachments"]]
    return f"{fields(pairs)}\n\n{one['body_text'] or ''}"
