"""`mailbox …`: manages a mailbox root and its accounts."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, non_negative
from posthouse.cli.output import Cell, fields

if TYPE_CHECKING:
    from posthouse.mailbox.filesystem.layout import Root
    from posthouse.mailbox.filesystem.registration import RegistrationRequest
    from posthouse.mailbox.filesystem.repair import RepairReport


def init_arguments(parser: Parser) -> None:
    root_argument(parser)


def init(call: Call) -> int:
    """Create the root, or its missing parts."""
    from posthouse.mailbox.filesystem import create_root

    root = create_root.create_root(root_path(call))
    call.output.result(
        {"mailbox_root": str(root.path), "status": "ready"}, f"mailbox root {root.path} is ready"
    )
    return 0


def status_arguments(parser: Parser) -> None:
    root_argument(parser)


def status(call: Call) -> int:
    """Check the root and count its contents."""
    from posthouse.mailbox.filesystem import databases

    root = open_mailbox_root(call)
    with databases.opened(root.index) as index:
        messages, active, inactive, stashed = databases.run(index, "counts").fetchone()
    value = {
        "mailbox_root": str(root.path),
        "protocol_version": 3,
        "message_count": messages,
        "active_count": active,
        "inactive_count": inactive,
        "stashed_count": stashed,
    }
    call.output.result(value, fields([(name.replace("_", " "), str(count)) for name, count in value.items()]))
    return 0


def register_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--address", required=True, help="the full address, such as gpu@houmao.localhost")
    parser.add_argument("--principal-id", help="the owner's principal id (default: HOUMAO-NAME for NAME@…)")
    parser.add_argument(
        "--mode",
        choices=("safe", "force", "stash"),
        default="safe",
        help="for an existing mailbox: reuse, delete or stash it (default: safe)",
    )
    parser.add_argument("--mailbox-path", type=Path, metavar="DIR", help="a private folder outside the root")
    parser.add_argument("--display-name", help="the owner's display name")
    parser.add_argument("--yes", action="store_true", help="confirm that --mode force deletes the mailbox")


def register(call: Call) -> int:
    """Register a mailbox for an address."""
    from posthouse.mailbox.filesystem import payloads, register_mailbox

    if call.arguments.mode == "force" and not call.arguments.yes:
        raise UsageError("--mode force deletes the existing mailbox; add --yes, or use --mode stash")
    request = _registration_request(call)
    answer = payloads.registered(request, register_mailbox.register(open_mailbox_root(call), request))
    verb = "is registered already" if answer.get("reused_existing") else "is registered"
    call.output.result({"ok": True, **answer}, f"{request.address} {verb} for {request.owner_principal_id}")
    return 0


def unregister_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--address", required=True, help="the mailbox's address")
    parser.add_argument(
        "--mode",
        choices=("deactivate", "purge"),
        default="deactivate",
        help="keep the mailbox inactive, or delete it (default: deactivate)",
    )
    parser.add_argument("--yes", action="store_true", help="confirm that --mode purge deletes the mailbox")


def unregister(call: Call) -> int:
    """Deactivate or delete a mailbox."""
    from posthouse.mailbox.filesystem import payloads, register_mailbox

    mode = call.arguments.mode
    if mode == "purge" and not call.arguments.yes:
        raise UsageError("--mode purge deletes the mailbox; add --yes, or use --mode deactivate")
    gone = register_mailbox.deregister(open_mailbox_root(call), call.arguments.address, mode)
    answer = payloads.deregistered(mode, gone)
    call.output.result({"ok": True, **answer}, f"{gone.address} is {answer['resulting_status']}")
    return 0


def repair_arguments(parser: Parser) -> None:
    root_argument(parser)


def repair(call: Call) -> int:
    """Rebuild the index from messages and mailboxes."""
    from posthouse.mailbox.filesystem import layout, payloads
    from posthouse.mailbox.filesystem import repair as repairing

    path = root_path(call)
    if not layout.is_root(path):
        open_mailbox_root(call)  # raises with the reason
    report = repairing.repair(layout.Root(path))
    call.output.result({"ok": True, **payloads.repaired(report)}, _repaired(report))
    return 0


def _repaired(report: "RepairReport") -> str:
    lines = [
        f"{report.messages} messages, {report.registrations} registrations",
        f"{report.restored} rows restored, {report.forgotten} forgotten",
        *(f"not a message: {one}" for one in report.unreadable),
        *(f"set aside: {one}" for one in report.set_aside),
    ]
    return "\n".join(lines)


def export_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--output-dir", type=Path, required=True, metavar="DIR", help="the target folder")
    parser.add_argument("--all-accounts", action="store_true", help="export every mailbox")
    parser.add_argument(
        "--address", action="append", default=[], metavar="ADDRESS", help="a mailbox; may be repeated"
    )
    parser.add_argument(
        "--symlink-mode",
        choices=("materialize", "preserve"),
        default="materialize",
        help="copy the targets of symlinks, or keep the links (default: materialize)",
    )


def export(call: Call) -> int:
    """Export mailboxes into a self-contained folder."""
    from posthouse.mailbox.filesystem import export as exporting

    given = call.arguments
    if given.all_accounts == bool(given.address):
        raise UsageError("choose the mailboxes: --all-accounts, or --address once or more")
    target = (call.wiring.working_directory / given.output_dir).absolute()
    addresses = None if given.all_accounts else given.address
    done = exporting.export(open_mailbox_root(call), target, addresses, symlink_mode=given.symlink_mode)
    call.output.result(
        {
            "output_dir": str(done.path),
            "addresses": done.addresses,
            "message_count": done.messages,
            "attachment_count": done.attachments,
        },
        f"{done.messages} messages of {len(done.addresses)} mailboxes are in {done.path}",
    )
    return 0


def cleanup_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only show what would be removed")
    parser.add_argument(
        "--older-than-seconds",
        type=non_negative,
        default=3600,
        metavar="N",
        help="keep files younger than N seconds (default: 3600)",
    )


def cleanup(call: Call) -> int:
    """Remove leftovers of dead processes."""
    from posthouse.mailbox.filesystem import stale_files

    given = call.arguments
    found = stale_files.clean_up(
        open_mailbox_root(call), dry_run=given.dry_run, grace_seconds=given.older_than_seconds
    )
    call.output.table(
        {
            "dry_run": given.dry_run,
            "removed": [{"path": str(one.path), "reason": one.reason} for one in found],
        },
        ("path", "reason"),
        [[Cell(str(one.path)), Cell(one.reason)] for one in found],
        empty="nothing to clean up",
    )
    return 0


def clear_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only count what would be removed")
    parser.add_argument("--yes", action="store_true", help="confirm that every message is deleted")


def clear(call: Call) -> int:
    """Delete every message of the root; mailboxes and their owners stay."""
    from posthouse.mailbox.filesystem import clear_messages

    given = call.arguments
    root = open_mailbox_root(call)
    if not (given.yes or given.dry_run):
        raise UsageError(
            f"this deletes every message of {root.path}; add --yes, or preview with --dry-run. "
            "`mailbox export --all-accounts` makes a copy"
        )
    found = clear_messages.clear_messages(root, dry_run=given.dry_run)
    value = {
        "mailbox_root": str(root.path),
        "dry_run": given.dry_run,
        "message_count": found.messages,
        "mailbox_count": found.mailboxes,
        "attachment_count": found.attachments,
    }
    verb = "would be" if given.dry_run else "are"
    call.output.result(value, f"{found.messages} messages in {found.mailboxes} mailboxes {verb} removed")
    return 0


def root_argument(parser: Parser) -> None:
    """Add the option for the mailbox root."""
    parser.add_argument(
        "--mailbox-root",
        type=Path,
        metavar="DIR",
        help="the mailbox root (default: the project's; outside a project, your own)",
    )


def root_path(call: Call) -> Path:
    """The path of the command's mailbox root, which may not exist."""
    given: Path | None = call.arguments.mailbox_root
    return call.wiring.roots.mailbox if given is None else (call.wiring.working_directory / given).absolute()


def open_mailbox_root(call: Call) -> "Root":
    """Open the command's mailbox root."""
    from posthouse.mailbox.filesystem import open_root

    return open_root.open_root(root_path(call))


def _registration_request(call: Call) -> "RegistrationRequest":
    from posthouse.contracts import mail_address
    from posthouse.mailbox.filesystem.registration import RegistrationRequest

    given = call.arguments
    address = mail_address.check(given.address)
    path = given.mailbox_path
    return RegistrationRequest(
        address=address,
        owner_principal_id=given.principal_id or mail_address.default_principal(address.partition("@")[0]),
        mode=given.mode,
        mailbox_kind="in_root" if path is None else "symlink",
        mailbox_path=None if path is None else (call.wiring.working_directory / path).absolute(),
        display_name=given.display_name,
    )
