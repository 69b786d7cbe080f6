"""Kills a process at every step of one mailbox operation and tells what is left. Run by `test_crashes`.

A program of its own, because it forks: each child does the operation once and dies one step later.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from posthouse.mailbox import (
    Draft,
    Flags,
    MailboxUnusable,
    MailFilter,
    MailTransportError,
    OutgoingAttachment,
)
from posthouse.mailbox.filesystem import clear_messages, open_root, register_mailbox, repair
from posthouse.mailbox.filesystem.mailbox import FilesystemMailbox
from posthouse.mailbox.filesystem.registration import RegistrationRequest
from posthouse.support import crashpoints
from posthouse.testing.mail import FilesystemOffice, address_of

_MOST_STEPS = 300


def _send(office: FilesystemOffice, number: int) -> None:
    file = office.root.path.parent / "file.txt"
    draft = Draft(
        to=(address_of("ben"),),
        cc=(address_of("cleo"),),
        subject=f"message {number}",
        body="text",
        enclosures=(OutgoingAttachment(path=file, is_copied=True),),
    )
    _mailbox(office, "ada").send(draft)


def _archive(office: FilesystemOffice, _number: int) -> None:
    ben = _mailbox(office, "ben")
    ben.archive([message.message_ref for message in ben.find(MailFilter(limit=2))])


def _mark(office: FilesystemOffice, _number: int) -> None:
    ben = _mailbox(office, "ben")
    ben.mark([message.message_ref for message in ben.find(MailFilter())], Flags(read=True, answered=True))


def _register(mode: str) -> Callable[[FilesystemOffice, int], None]:
    def operation(office: FilesystemOffice, _number: int) -> None:
        wish = RegistrationRequest(address=address_of("ben"), owner_principal_id="HOUMAO-ben", mode=mode)  # type: ignore[arg-type]
        register_mailbox.register(office.root, wish)

    return operation


def _purge(office: FilesystemOffice, _number: int) -> None:
    register_mailbox.deregister(office.root, address_of("ben"), "purge")


def _repair(office: FilesystemOffice, _number: int) -> None:
    repair.repair(office.root)


def _clear(office: FilesystemOffice, _number: int) -> None:
    clear_messages.clear_messages(office.root)


OPERATIONS: dict[str, Callable[[FilesystemOffice, int], None]] = {
    "send": _send,
    "archive": _archive,
    "mark": _mark,
    "force": _register("force"),
    "stash": _register("stash"),
    "purge": _purge,
    "repair": _repair,
    "clear": _clear,
}


def _mailbox(office: FilesystemOffice, name: str) -> FilesystemMailbox:
    return FilesystemMailbox(office.root, address_of(name), f"HOUMAO-{name}")


def _survives(operation: Callable[[], None], step: int) -> bool:
    pid = os.fork()
    if pid == 0:
        crashpoints.arm(str(step))
        try:
            operation()
        except BaseException as error:  # noqa: BLE001 - a child must not go on as its parent
            os.write(2, f"{error!r}\n".encode())
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise SystemExit(f"step {step} failed instead of dying")
    return os.WIFEXITED(status)


def _left(office: FilesystemOffice) -> dict[str, object]:
    """What the next one to open the root finds."""
    open_root.open_root(office.root.path)
    root = office.root
    return {
        "ada": _box(office, "ada", "sent"),
        "ben": _box(office, "ben", "inbox"),
        "ben's archive": _box(office, "ben", "archive"),
        "cleo": _box(office, "cleo", "inbox"),
        "documents": len(list(root.messages.glob("*/*.md"))),
        "links": {
            f"{path.parent.parent.name.partition('@')[0]} {path.parent.name}": True
            for path in root.mailboxes.glob("*/*/*.md")
            if not path.is_file()
        },
        "half done": sum(1 for path in root.staging.glob("*.md") if path.stat().st_nlink > 1),
    }


def _box(office: FilesystemOffice, name: str, box: str) -> list[str] | None:
    try:
        return sorted(message.subject for message in _mailbox(office, name).find(MailFilter(box=box)))
    except (MailboxUnusable, MailTransportError):
        return None


def _prepared(folder: Path) -> FilesystemOffice:
    """An office with two messages, and a copy of it."""
    (folder / "file.txt").write_text("content")
    office = FilesystemOffice(folder / "mail")
    for agent in ("ada", "ben", "cleo"):
        office.mailbox(agent)
    for number in (1, 2):
        _send(office, number)
    shutil.rmtree(office.root.rules / "scripts")
    shutil.copytree(office.root.path, folder / "prepared", symlinks=True)
    return office


def main(folder: Path, name: str) -> None:
    """One JSON line for each step at which the operation was killed, and one for the time it survived."""
    office = _prepared(folder)
    for step in range(1, _MOST_STEPS):
        # Links and index hold absolute paths, so every step plays in the same place.
        shutil.rmtree(office.root.path)
        shutil.copytree(folder / "prepared", office.root.path, symlinks=True)
        survived = _survives(lambda: OPERATIONS[name](office, 3), step)
        left = _left(office)
        office.mailbox("ben")
        _send(office, 4)
        left["afterwards"] = _box(office, "cleo", "inbox")
        print(json.dumps({"step": step, "survived": survived, **left}), flush=True)  # noqa: T201
        if survived:
            return
    raise SystemExit(f"{name} takes more than {_MOST_STEPS} steps")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
