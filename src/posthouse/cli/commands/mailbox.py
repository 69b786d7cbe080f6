"""`mailbox …`: a mailbox root and its accounts, looked after from outside."""

from pathlib import Path
from typing import TYPE_CHECKING

from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, natural
from posthouse.cli.output import Cell, fields

if TYPE_CHECKING:
    from posthouse.mailbox.filesystem.layout import Root
    from posthouse.mailbox.filesystem.registration import Wish
    from posthouse.mailbox.filesystem.repair import Report


def init_arguments(parser: Parser) -> None:
    root_argument(parser)


def init(call: Call) -> int:
    """Make the root, or what is missing of it."""
    from posthouse.mailbox.filesystem import create_root

    root = create_root.create_root(root_path(call))
    call.output.result(
        {"mailbox_root": str(root.path), "status": "ready"}, f"mailbox root {root.path} is ready"
    )
    return 0


def status_arguments(parser: Parser) -> None:
    root_argument(parser)


def status(call: Call) -> int:
    """Say whether the root can be used, and what is in it."""
    from posthouse.mailbox.filesystem import databases

    root = opened_root(call)
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
    call.output.result(value, fields([(name.replace("_", " "), str(told)) for name, told in value.items()]))
    return 0


def register_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--address", required=True, help="the full address, such as gpu@houmao.localhost")
    parser.add_argument("--principal-id", help="who owns it; HOUMAO-NAME for NAME@… when left out")
    parser.add_argument("--mode", choices=("safe", "force", "stash"), default="safe")
    parser.add_argument("--mailbox-path", type=Path, metavar="DIR", help="a private folder outside the root")
    parser.add_argument("--display-name")
    parser.add_argument("--yes", action="store_true", help="agree to what --mode force throws away")


def register(call: Call) -> int:
    """Give an address a mailbox."""
    from posthouse.mailbox.filesystem import payloads, register_mailbox

    if call.arguments.mode == "force" and not call.arguments.yes:
        raise UsageError("--mode force throws the address's mailbox away; add --yes, or use --mode stash")
    wish = _wish(call)
    answer = payloads.registered(wish, register_mailbox.register(opened_root(call), wish))
    verb = "is registered already" if answer.get("reused_existing") else "is registered"
    call.output.result({"ok": True, **answer}, f"{wish.address} {verb} for {wish.owner_principal_id}")
    return 0


def unregister_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--address", required=True)
    parser.add_argument("--mode", choices=("deactivate", "purge"), default="deactivate")
    parser.add_argument("--yes", action="store_true", help="agree to what --mode purge throws away")


def unregister(call: Call) -> int:
    """Take a mailbox out of use, or away."""
    from posthouse.mailbox.filesystem import payloads, register_mailbox

    mode = call.arguments.mode
    if mode == "purge" and not call.arguments.yes:
        raise UsageError("--mode purge throws the mailbox away; add --yes, or use --mode deactivate")
    gone = register_mailbox.deregister(opened_root(call), call.arguments.address, mode)
    answer = payloads.deregistered(mode, gone)
    call.output.result({"ok": True, **answer}, f"{gone.address} is {answer['resulting_status']}")
    return 0


def repair_arguments(parser: Parser) -> None:
    root_argument(parser)


def repair(call: Call) -> int:
    """Make the index again from messages and mailboxes."""
    from posthouse.mailbox.filesystem import layout, payloads
    from posthouse.mailbox.filesystem import repair as repairing

    path = root_path(call)
    if not layout.is_root(path):
        opened_root(call)  # says what is wrong with it
    report = repairing.repair(layout.Root(path))
    call.output.result({"ok": True, **payloads.repaired(report)}, _repaired(report))
    return 0


def _repaired(report: "Report") -> str:
    lines = [
        f"{report.messages} messages, {report.registrations} registrations",
        f"{report.restored} rows restored, {report.forgotten} forgotten",
        *(f"not a message: {one}" for one in report.unreadable),
        *(f"set aside: {one}" for one in report.set_aside),
    ]
    return "\n".join(lines)


def export_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--output-dir", type=Path, required=True, metavar="DIR")
    parser.add_argument("--all-accounts", action="store_true")
    parser.add_argument("--address", action="append", default=[], metavar="ADDRESS")
    parser.add_argument("--symlink-mode", choices=("materialize", "preserve"), default="materialize")


def export(call: Call) -> int:
    """Copy mailboxes into a folder that stands by itself."""
    from posthouse.mailbox.filesystem import export as exporting

    given = call.arguments
    if given.all_accounts == bool(given.address):
        raise UsageError("say which mailboxes: --all-accounts, or --address once or more")
    target = (call.wiring.working_directory / given.output_dir).absolute()
    addresses = None if given.all_accounts else given.address
    done = exporting.export(opened_root(call), target, addresses, symlink_mode=given.symlink_mode)
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
        "--older-than-seconds", type=natural, default=3600, metavar="N", help="leave what is younger alone"
    )


def cleanup(call: Call) -> int:
    """Remove what dead processes left."""
    from posthouse.mailbox.filesystem import stale_files

    given = call.arguments
    found = stale_files.clean_up(
        opened_root(call), dry_run=given.dry_run, grace_seconds=given.older_than_seconds
    )
    call.output.table(
        {
            "dry_run": given.dry_run,
            "removed": [{"path": str(one.path), "reason": one.reason} for one in found],
        },
        ("path", "why nobody misses it"),
        [[Cell(str(one.path)), Cell(one.reason)] for one in found],
        empty="nothing to clean up",
    )
    return 0


def clear_arguments(parser: Parser) -> None:
    root_argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only count what would be removed")
    parser.add_argument("--yes", action="store_true", help="agree to lose every message of the root")


def clear(call: Call) -> int:
    """Remove every message of the root; mailboxes and their owners stay."""
    from posthouse.mailbox.filesystem import clear_messages

    given = call.arguments
    root = opened_root(call)
    if not (given.yes or given.dry_run):
        raise UsageError(
            f"this removes every message of {root.path}; add --yes, or look with --dry-run. "
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
    """Every command of the group can be told which root it is about."""
    parser.add_argument(
        "--mailbox-root",
        type=Path,
        metavar="DIR",
        help="the project's root, or your own outside a project, when left out",
    )


def root_path(call: Call) -> Path:
    """The root that the command is about; it need not exist."""
    given: Path | None = call.arguments.mailbox_root
    return call.wiring.roots.mailbox if given is None else (call.wiring.working_directory / given).absolute()


def opened_root(call: Call) -> "Root":
    """The root that the command is about, ready for use."""
    from posthouse.mailbox.filesystem import open_root

    return open_root.open_root(root_path(call))


def _wish(call: Call) -> "Wish":
    from posthouse.contracts import mail_address
    from posthouse.mailbox.filesystem.registration import Wish

    given = call.arguments
    address = mail_address.check(given.address)
    path = given.mailbox_path
    return Wish(
        address=address,
        owner_principal_id=given.principal_id or mail_address.default_principal(address.partition("@")[0]),
        mode=given.mode,
        mailbox_kind="in_root" if path is None else "symlink",
        mailbox_path=None if path is None else (call.wiring.working_directory / path).absolute(),
        display_name=given.display_name,
    )
