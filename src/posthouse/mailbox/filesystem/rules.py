"""The `rules/` of a mailbox root: documents for whoever works with it, and scripts that run on a bare Python.

The scripts bring the code they run with them, copied from this package, so that a root looks after itself
wherever it is mounted, with nothing installed.
"""

from pathlib import Path

import posthouse
from posthouse.mailbox.filesystem.layout import Root
from posthouse.support import files

_PACKAGE = Path(posthouse.__file__).parent
_TEXTS = Path(__file__).parent / "root_rules"
#: Everything the scripts import; `tests/unit/mailbox/filesystem/test_rules.py` holds it complete.
LIBRARY = (
    "__init__.py",
    "errors.py",
    "contracts/__init__.py",
    "contracts/names.py",
    "contracts/mail_address.py",
    "contracts/mail_document.py",
    "contracts/mail_notice.py",
    "contracts/mail_reading.py",
    "support/__init__.py",
    "support/clock.py",
    "support/crashpoints.py",
    "support/files.py",
    "support/ids.py",
    "support/ownership.py",
    "support/processes.py",
    "support/untrusted_files.py",
    "mailbox/__init__.py",
    "mailbox/front_matter.py",
    "mailbox/message.py",
    "mailbox/plain_yaml.py",
    "mailbox/transport.py",
    "mailbox/filesystem/__init__.py",
    "mailbox/filesystem/box.sql",
    "mailbox/filesystem/databases.py",
    "mailbox/filesystem/delivery.py",
    "mailbox/filesystem/folders.py",
    "mailbox/filesystem/index.sql",
    "mailbox/filesystem/layout.py",
    "mailbox/filesystem/locks.py",
    "mailbox/filesystem/open_root.py",
    "mailbox/filesystem/payloads.py",
    "mailbox/filesystem/placement.py",
    "mailbox/filesystem/reading.py",
    "mailbox/filesystem/recovery.py",
    "mailbox/filesystem/register_mailbox.py",
    "mailbox/filesystem/registration.py",
    "mailbox/filesystem/repair.py",
    "mailbox/filesystem/state.py",
)


def write(root: Root) -> None:
    """Bring the rules up to date. What is right already is not touched."""
    for text in sorted(_TEXTS.rglob("*")):
        if text.is_file() and "__pycache__" not in text.parts:
            _copy(text, root.rules / text.relative_to(_TEXTS))
    for name in LIBRARY:
        _copy(_PACKAGE / name, root.rules / "scripts" / "lib" / "posthouse" / name)


def _copy(source: Path, target: Path) -> None:
    content = source.read_bytes()
    files.private_folder(target.parent)
    if not target.is_file() or target.is_symlink() or target.read_bytes() != content:
        # Derived from the program: whoever opens the root next with it writes them again.
        files.write_whole(target, content, durable=False, mode=0o700 if target.suffix == ".py" else 0o600)
