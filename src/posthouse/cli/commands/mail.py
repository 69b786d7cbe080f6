"""`agents mail …`: reads and sends mail of an agent."""

from pathlib import Path
from typing import Any

from posthouse.cli import mail_operations
from posthouse.cli import mail_options as options
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, fields


def resolve_live(call: Call) -> int:
    """Show the agent's current mailbox and the gateway that serves it."""
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
    _show(call, value, f"{value['address']} ({value['transport']}, {value['execution_path']})")
    return 0


def listing_arguments(parser: Parser) -> None:
    options.listing_arguments(parser)


def listing(call: Call) -> int:
    return _list(call, mail_operations.run(call, "list", options.filter_of(call.arguments)))


def check_arguments(parser: Parser) -> None:
    parser.add_argument("--unread-only", action="store_true", help="only unread messages")
    options.range_arguments(parser)


def check(call: Call) -> int:
    """List the inbox. Superseded by `mail list`."""
    arguments = call.arguments
    request = {
        "box": "inbox",
        "read_state": "unread" if arguments.unread_only else "any",
        "limit": arguments.limit,
        "since": arguments.since,
    }
    return _list(call, mail_operations.run(call, "check", request, operation="list"))


def peek_arguments(parser: Parser) -> None:
    options.message_argument(parser)


def peek(call: Call) -> int:
    return _show_message(call, "peek")


def read_arguments(parser: Parser) -> None:
    options.message_argument(parser)


def read(call: Call) -> int:
    return _show_message(call, "read")


def send_arguments(parser: Parser) -> None:
    options.recipient_arguments(parser)
    parser.add_argument("--subject", required=True, help="the subject")
    options.content_arguments(parser)


def send(call: Call) -> int:
    arguments = call.arguments
    request = {"to": arguments.to, "cc": arguments.cc, "subject": arguments.subject}
    return _send(call, "send", request | options.content_of(arguments, call.wiring))


def post_arguments(parser: Parser) -> None:
    parser.add_argument("--subject", required=True, help="the subject")
    parser.add_argument(
        "--reply-policy",
        choices=("none", "operator_mailbox"),
        default="operator_mailbox",
        help="where replies go (default: operator_mailbox)",
    )
    options.content_arguments(parser)


def post(call: Call) -> int:
    """Post an operator note into the agent's mailbox."""
    arguments = call.arguments
    request = {"subject": arguments.subject, "reply_policy": arguments.reply_policy}
    return _send(call, "post", request | options.content_of(arguments, call.wiring))


def reply_arguments(parser: Parser) -> None:
    parser.add_argument("--message-ref", required=True, metavar="REF", help="the message to reply to")
    options.content_arguments(parser)


def reply(call: Call) -> int:
    request = {"message_ref": call.arguments.message_ref}
    return _send(call, "reply", request | options.content_of(call.arguments, call.wiring))


def mark_arguments(parser: Parser) -> None:
    options.messages_argument(parser)
    options.flag_arguments(parser)


def mark(call: Call) -> int:
    arguments = call.arguments
    given = {name: getattr(arguments, name) for name in ("read", "answered", "archived")}
    if all(value is None for value in given.values()):
        raise UsageError(
            "choose a mark: --read, --unread, --answered, --unanswered, --archived, --unarchived"
        )
    return _change(call, "mark", {"message_refs": arguments.message_refs, **given})


def mark_read_arguments(parser: Parser) -> None:
    options.messages_argument(parser)


def mark_read(call: Call) -> int:
    """Mark messages read. Superseded by `mail mark`."""
    request = {"message_refs": call.arguments.message_refs, "read": True}
    return _change(call, "mark-read", request, operation="mark")


def move_arguments(parser: Parser) -> None:
    options.messages_argument(parser)
    parser.add_argument("--destination-box", required=True, metavar="BOX", help="the target box")


def move(call: Call) -> int:
    arguments = call.arguments
    request = {"message_refs": arguments.message_refs, "destination_box": arguments.destination_box}
    return _change(call, "move", request)


def archive_arguments(parser: Parser) -> None:
    options.messages_argument(parser)


def archive(call: Call) -> int:
    return _change(call, "archive", {"message_refs": call.arguments.message_refs})


def thread_arguments(parser: Parser) -> None:
    options.message_argument(parser, with_box=False)


def thread(call: Call) -> int:
    """Show the thread of a message, oldest first."""
    value = mail_operations.run(call, "thread", {"message_ref": call.arguments.message_ref})
    if value["authoritative"]:
        call.output.result(value, "\n\n".join(_message_text(one) for one in value["messages"]))
    else:
        _show(call, value, "")
    return 0


def search_arguments(parser: Parser) -> None:
    parser.add_argument(
        "query", nargs="+", metavar="WORD", help="a word to find; messages contain all of them"
    )
    parser.add_argument("--box", metavar="BOX", help="search only this box")
    parser.add_argument(
        "--limit", type=options.positive, default=20, metavar="N", help="show at most N (default: 20)"
    )


def search(call: Call) -> int:
    arguments = call.arguments
    request = {"query": " ".join(arguments.query), "box": arguments.box, "limit": arguments.limit}
    return _list(call, mail_operations.run(call, "search", request))


def save_attachment_arguments(parser: Parser) -> None:
    parser.add_argument("--message-ref", required=True, metavar="REF", help="the message")
    parser.add_argument("--attachment-id", required=True, metavar="ID", help="the attachment's id")
    parser.add_argument(
        "--output", required=True, type=Path, metavar="PATH", help="the target: a folder, or a new file"
    )


def save_attachment(call: Call) -> int:
    """Save an attachment to a file; an existing file is not overwritten."""
    arguments = call.arguments
    target = call.wiring.working_directory / arguments.output
    value = mail_operations.run_locally(
        call,
        lambda mail: mail.save_attachment(arguments.message_ref, arguments.attachment_id, target),
        "save-attachment",
    )
    call.output.result(value, value["path"])
    return 0


def track_arguments(parser: Parser) -> None:
    parser.add_argument("--message-ref", required=True, metavar="REF", help="a message that this agent sent")


def track(call: Call) -> int:
    """Show the delivery progress of a message for each receiver."""
    from posthouse.cli import mail_tracking

    value = mail_tracking.progress(call)
    rows = [
        [Cell(one["address"]), Cell(one["step"]), Cell(one["reason"] or "")] for one in value["receivers"]
    ]
    call.output.table(value, ("receiver", "step", "reason"), rows, empty="it has no receivers")
    return 0


def _show_message(call: Call, verb: str) -> int:
    request = {"message_ref": call.arguments.message_ref, "box": call.arguments.box}
    value = mail_operations.run(call, verb, request)
    _show(call, value, _message_text(value["message"]) if value["authoritative"] else "")
    return 0


def _send(call: Call, verb: str, request: dict[str, Any]) -> int:
    value = mail_operations.run(call, verb, request)
    _show(call, value, value["message"]["message_ref"] if value["authoritative"] else "")
    return 0


def _change(call: Call, verb: str, request: dict[str, Any], *, operation: str | None = None) -> int:
    value = mail_operations.run(call, verb, request, operation=operation)
    count = value.get("message_count", 0)
    _show(call, value, f"{count} {'message' if count == 1 else 'messages'}")
    return 0


def _list(call: Call, value: dict[str, Any]) -> int:
    if not value["authoritative"]:
        _show(call, value, "")
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


def _show(call: Call, value: dict[str, Any], text: str) -> None:
    if not value["authoritative"]:
        text = f"{value['status']}: {value['request_id']}; check the mailbox for the result"
    call.output.result(value, text)


def _message_text(one: dict[str, Any]) -> str:
    pairs = [
        ("from", one["sender"]["address"]),
        ("to", ", ".join(party["address"] for party in one["to"])),
        ("subject", one["subject"]),
        ("time", one["created_at_utc"]),
        ("message_ref", one["message_ref"]),
    ]
    pairs += [("attachment", f"{file['attachment_id']} {file['label'] or ''}") for file in one["attachments"]]
    return f"{fields(pairs)}\n\n{one['body_text'] or ''}"
