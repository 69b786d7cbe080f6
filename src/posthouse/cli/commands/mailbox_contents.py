"""`mailbox accounts …` and `mailbox messages …`: the accounts of a mailbox root and their messages."""

import dataclasses
from typing import TYPE_CHECKING, Any

from posthouse.cli.commands.mailbox import open_mailbox_root, root_argument
from posthouse.cli.context import Call
from posthouse.cli.options import Parser, non_negative
from posthouse.cli.output import Cell, fields

if TYPE_CHECKING:
    from posthouse.mailbox import Message
    from posthouse.mailbox.filesystem.layout import Root
    from posthouse.mailbox.filesystem.mailbox import FilesystemMailbox
    from posthouse.mailbox.filesystem.registration import Registration


def accounts_list_arguments(parser: Parser) -> None:
    root_argument(parser)


def accounts_list(call: Call) -> int:
    """List the registrations of the root."""
    from posthouse.mailbox.filesystem import databases, registration

    root = open_mailbox_root(call)
    with databases.opened(root.index) as index:
        found = registration.all_registrations(index)
    call.output.table(
        {"mailbox_root": str(root.path), "accounts": [dataclasses.asdict(one) for one in found]},
        ("address", "owner", "status", "kind"),
        [
            [Cell(one.address), Cell(one.owner_principal_id), Cell(one.status), Cell(one.mailbox_kind)]
            for one in found
        ],
        empty="no mailboxes",
    )
    return 0


def accounts_get_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--address", required=True, help="the mailbox's address")


def accounts_get(call: Call) -> int:
    """Show one account with the message counts of its boxes."""
    from posthouse.mailbox.filesystem import databases

    root = open_mailbox_root(call)
    owner = _owner(root, call.arguments.address)
    with databases.opened(owner.database) as box:
        counted = databases.run_box(box, "boxes", "main").fetchall()
    boxes = {name: {"message_count": count, "unread_count": unread} for name, count, unread in counted}
    value = dataclasses.asdict(owner) | {"boxes": boxes}
    summary = [(name.replace("_", " "), str(one)) for name, one in value.items() if one and name != "boxes"]
    shown = [(name, f"{one['message_count']} ({one['unread_count']} unread)") for name, one in boxes.items()]
    call.output.result(value, fields(summary + shown))
    return 0


def messages_list_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--address", required=True, help="the mailbox's address")
    parser.add_argument("--box", default="inbox", help="the box (default: inbox)")
    parser.add_argument(
        "--limit", type=non_negative, default=50, metavar="N", help="show at most N (default: 50)"
    )


def messages_list(call: Call) -> int:
    """List the newest messages of a box, without marking them read."""
    from posthouse.mailbox import MailFilter

    given = call.arguments
    found = _mailbox(call).find(MailFilter(box=given.box, limit=given.limit))
    call.output.table(
        {"address": given.address, "box": given.box, "messages": [as_json(one) for one in found]},
        ("created", "from", "subject", "ref"),
        [
            [
                Cell(one.created_at_utc),
                Cell(one.sender.address),
                Cell(one.subject, "strong" if one.unread else None),
                Cell(one.message_ref),
            ]
            for one in found
        ],
        empty=f"no messages in {given.box} of {given.address}",
    )
    return 0


def messages_get_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--address", required=True, help="the mailbox's address")
    parser.add_argument(
        "--message-ref", "--message-id", required=True, dest="message_ref", help="the message's reference"
    )


def messages_get(call: Call) -> int:
    """Show one message, without marking it read."""
    found = _mailbox(call).peek(call.arguments.message_ref)
    head = fields(
        [
            ("from", found.sender.address),
            ("to", ", ".join(one.address for one in found.to)),
            *([("cc", ", ".join(one.address for one in found.cc))] if found.cc else []),
            ("subject", found.subject),
            ("created", found.created_at_utc),
            *(("attached", f"{one.attachment_id} {one.locator or ''}") for one in found.attachments),
        ]
    )
    call.output.result(as_json(found), f"{head}\n\n{found.body_text}")
    return 0


def as_json(message: "Message") -> dict[str, Any]:
    """A message in the contract's fields."""
    return dataclasses.asdict(message) | {"unread": message.unread}


def _mailbox(call: Call) -> "FilesystemMailbox":
    from posthouse.mailbox.filesystem.mailbox import FilesystemMailbox

    root = open_mailbox_root(call)
    owner = _owner(root, call.arguments.address)
    return FilesystemMailbox(root, owner.address, owner.owner_principal_id)


def _owner(root: "Root", text: str) -> "Registration":
    from posthouse.contracts import mail_address
    from posthouse.mailbox.filesystem import databases, registration

    address = mail_address.check(text)
    with databases.opened(root.index) as index:
        return registration.required(index, root, address)
