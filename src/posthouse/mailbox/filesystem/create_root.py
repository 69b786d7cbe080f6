"""Making a mailbox root."""

from pathlib import Path

from posthouse.contracts import names
from posthouse.mailbox.filesystem import databases, layout, register_mailbox, rules
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailboxUnusable, MailTrouble
from posthouse.support import files


def create_root(path: Path) -> Root:
    """The mailbox root at *path*, made or completed. A second call changes nothing.

    Raises:
        MailboxUnusable: Something else lies there.
        MailTrouble: It can't be made.
    """
    if not path.is_absolute():
        raise MailboxUnusable(f"{path} is not absolute")
    root = Root(path)
    try:
        if not layout.is_root(path):
            _refuse_strangers(path)
        for folder in (path, *root.folders):
            files.private_folder(folder)
        databases.create(root.index, "index")
        layout.write_marker(root)
        layout.verify(root)
        rules.write(root)
    except OSError as error:
        raise MailTrouble(f"{path} can't be made a mailbox root: {error}") from error
    register_mailbox.ensure_operator(root)
    return root


def _refuse_strangers(path: Path) -> None:
    """A root whose making was interrupted has its folders and nothing else."""
    if not path.exists():
        return
    ours = {"rules", "locks", "messages", "attachments", "mailboxes", "staging", names.MAIL_INDEX}
    if not path.is_dir() or any(entry.name not in ours for entry in path.iterdir()):
        raise MailboxUnusable(f"{path} holds something else; a mailbox root needs a folder of its own")
