"""The `rules/` folder of a mailbox root: documentation, and scripts that run on a bare Python.

The scripts include a copy of this package's code, so that they work wherever the root is mounted, with
nothing installed.
"""

from pathlib import Path

import posthouse
from posthouse.mailbox.filesystem.layout import Root
from posthouse.support import files

_PACKAGE = Path(posthouse.__file__).parent
_TEXTS = Path(__file__).parent / "root_rules"
#: Everything the scripts import; `tests/unit/mailbox/filesystem/test_rules.py` checks it.
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
    """Update the rules. Unchanged files are not written."""
    for text in sorted(_TEXTS.rglob("*")):
        if text.is_file() and "__pycache__" not in text.parts:
            _copy(text, root.rules / text.relative_to(_TEXTS))
    for name in LIBRARY:
        _copy(_PACKAGE / name, root.rules / "scripts" / "lib" / "posthouse" / name)


def _copy(source: Path, target: Path) -> None:
    content = source.read_bytes()
    files.private_folder(target.parent)
    if not target.is_file() or target.is_symlink() or target.read_bytes() != content:
        # Not durable: derived files, rewritten by the next `write`.
        files.write_whole(target, content, durable=False, mode=0o700 if target.suffix == ".py" else 0o600)
