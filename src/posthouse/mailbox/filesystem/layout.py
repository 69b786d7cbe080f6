"""Paths inside a mailbox root, and its verification."""

import stat
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import mail_address, names
from posthouse.mailbox.message import ARCHIVE, DRAFTS, INBOX, SENT
from posthouse.mailbox.transport import MailboxUnusable, MailTransportError
from posthouse.support import ownership, untrusted_files

BOXES = (INBOX, SENT, ARCHIVE, DRAFTS)
_MARKER = f"{names.MAIL_PROTOCOL}\n"
_MAX_MARKER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Root:
    """The folders of one mailbox root."""

    path: Path

    @property
    def marker(self) -> Path:
        return self.path / names.MAIL_PROTOCOL_FILE

    @property
    def index(self) -> Path:
        return self.path / names.MAIL_INDEX

    @property
    def rules(self) -> Path:
        return self.path / "rules"

    @property
    def messages(self) -> Path:
        return self.path / "messages"

    @property
    def managed(self) -> Path:
        """Attachments stored in the root."""
        return self.path / "attachments" / "managed"

    @property
    def mailboxes(self) -> Path:
        return self.path / "mailboxes"

    @property
    def staging(self) -> Path:
        return self.path / "staging"

    @property
    def address_locks(self) -> Path:
        return self.path / "locks" / "addresses"

    @property
    def index_lock(self) -> Path:
        return self.path / "locks" / "index.lock"

    @property
    def folders(self) -> tuple[Path, ...]:
        return (
            self.rules,
            self.address_locks,
            self.messages,
            self.managed,
            self.mailboxes,
            self.staging,
        )

    def entry(self, address: str) -> Path:
        """Path of the mailbox of *address*, or of the symlink to it."""
        return self.mailboxes / mail_address.check(address)

    def document(self, message_id: str, date: str) -> Path:
        return self.messages / date / f"{message_id}.md"

    def address_lock(self, address: str) -> Path:
        return self.address_locks / f"{mail_address.check(address)}.lock"


def local_index(mailbox: Path) -> Path:
    """The database of one mailbox folder."""
    return mailbox / names.MAIL_LOCAL_INDEX


def is_root(path: Path) -> bool:
    """Whether *path* has the marker of a mailbox root."""
    return (path / names.MAIL_PROTOCOL_FILE).is_file()


def verify(root: Root) -> None:
    """Verify that *root* is trusted and has a supported version.

    Raises:
        MailboxUnusable: It is not a root, has another version or owner, or holds unknown entries.
        MailTransportError: It can't be read.
    """
    try:
        _verify_marker(root)
        for folder in (root.path, *root.folders):
            _verify_folder(folder)
        _verify_mailboxes(root)
    except OSError as error:
        raise MailTransportError(f"{root.path} can't be read: {error}") from error


def _verify_marker(root: Root) -> None:
    try:
        found = untrusted_files.read_bytes(root.marker, max_bytes=_MAX_MARKER_BYTES).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        raise MailboxUnusable(f"{root.path} is not a mailbox root; `mailbox init` creates one") from None
    except untrusted_files.UnsafeFile as error:
        raise MailboxUnusable(str(error)) from None
    if found.strip() != _MARKER.strip():
        raise MailboxUnusable(
            f"{root.path} is of protocol {found.strip()!r}; only {names.MAIL_PROTOCOL} is read"
        )
    if (root.path / "locks" / "principals").exists():
        raise MailboxUnusable(f"{root.path} is of an older layout: it has locks/principals")


def _verify_folder(folder: Path) -> None:
    """Refuse a folder that others can write to: they could redirect mail."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        raise MailboxUnusable(f"{folder} is missing; `mailbox repair` recreates it") from None
    if not stat.S_ISDIR(found.st_mode):
        raise MailboxUnusable(f"{folder} is not a real folder; a link could redirect mail")
    if (problem := ownership.problem(folder, found)) is not None:
        raise MailboxUnusable(problem)


def _verify_mailboxes(root: Root) -> None:
    for name in (entry.name for entry in root.mailboxes.iterdir()):
        if not mail_address.is_address(name) and mail_address.stashed_address(name) is None:
            raise MailboxUnusable(f"{root.mailboxes / name} is neither a mailbox nor a stashed one")


def write_marker(root: Root) -> None:
    from posthouse.support import files

    if not root.marker.exists():
        files.write_whole(root.marker, _MARKER.encode(), durable=True)
