"""Creates a mailbox root."""

from pathlib import Path

from posthouse.contracts import names
from posthouse.mailbox.filesystem import databases, layout, register_mailbox, rules
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailboxUnusable, MailTransportError
from posthouse.support import files


def create_root(path: Path) -> Root:
    """Create or complete the mailbox root at *path*. A second call changes nothing.

    Raises:
        MailboxUnusable: The folder has other content.
        MailTransportError: The root can't be created.
    """
    if not path.is_absolute():
        raise MailboxUnusable(f"{path} is not absolute")
    root = Root(path)
    try:
        if not layout.is_root(path):
            _refuse_other_content(path)
        for folder in (path, *root.folders):
            files.private_folder(folder)
        databases.create(root.index, "index")
        layout.write_marker(root)
        layout.verify(root)
        rules.write(root)
    except OSError as error:
        raise MailTransportError(f"{path} can't become a mailbox root: {error}") from error
    register_mailbox.ensure_operator(root)
    return root


def _refuse_other_content(path: Path) -> None:
    """Refuse a folder with other content. An interrupted creation leaves only the root's own folders."""
    if not path.exists():
        return
    ours = {"rules", "locks", "messages", "attachments", "mailboxes", "staging", names.MAIL_INDEX}
    if not path.is_dir() or any(entry.name not in ours for entry in path.iterdir()):
        raise MailboxUnusable(f"{path} has other content; a mailbox root needs an empty folder")
