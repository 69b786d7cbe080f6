"""Many senders to one mailbox, killed at random: what was acknowledged, and what is there afterwards.

    python -m posthouse.testing.mail_storm FOLDER [--senders 10] [--seconds 5]

Prints one JSON object. A process of its own: it forks its senders, so that starting one costs little.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from posthouse.mailbox import Draft, MailFilter
from posthouse.mailbox.filesystem import open_root
from posthouse.mailbox.filesystem.mailbox import open_mailbox
from posthouse.testing.mail import FilesystemOffice, address_of

_RECEIVERS = ("hub", "witness")
#: How long a storm goes on, on a disk so slow that nothing was sent yet.
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a storm left."""

    acknowledged: int
    killed: int
    #: Messages in the receiver's inbox, acknowledged or not.
    there: int
    #: Acknowledged messages that are not there.
    lost: int
    #: Messages that are there more than once.
    doubled: int
    #: Messages that one of sender and receivers has and another has not.
    partial: int
    #: What no opening completed or undid.
    half_done: int


def storm(folder: Path, *, senders: int, seconds: float, seed: int | None = None) -> Outcome:
    """Let *senders* processes send to one mailbox for *seconds*, kill one again and again, and count."""
    office = FilesystemOffice(folder / "mail")
    for name in (*_RECEIVERS, *map(_name, range(senders))):
        office.mailbox(name)
    chance = random.Random(seed)
    running = {_start(office, number, folder): number for number in range(senders)}
    killed, begun = 0, time.monotonic()
    while (passed := time.monotonic() - begun) < seconds or (passed < _PATIENCE and not _heard(folder)):
        time.sleep(chance.uniform(0.01, 0.2))
        victim = chance.choice(list(running))
        _kill(victim)
        number = running.pop(victim)
        running[_start(office, number, folder)] = number
        killed += 1
    for pid in running:
        _kill(pid)
    return _count(office, folder, senders, killed)


def _heard(folder: Path) -> bool:
    """Whether anybody was told that its message was sent."""
    return any(path.stat().st_size for path in folder.glob("acknowledged-*"))


def _name(number: int) -> str:
    return f"sender{number}"


def _start(office: FilesystemOffice, number: int, folder: Path) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            _send_for_ever(office, number, folder)
        finally:
            os._exit(1)
    return pid


def _send_for_ever(office: FilesystemOffice, number: int, folder: Path) -> None:
    mailbox = open_mailbox(
        office.root.path, address=address_of(_name(number)), principal_id=f"HOUMAO-{_name(number)}"
    )
    acknowledged = os.open(folder / f"acknowledged-{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        sent = mailbox.send(Draft(to=tuple(map(address_of, _RECEIVERS)), subject="storm", body="x" * 200))
        os.write(acknowledged, f"{sent.message_ref}\n".encode())


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _count(office: FilesystemOffice, folder: Path, senders: int, killed: int) -> Outcome:
    open_root.open_root(office.root.path)
    boxes = [_refs(office, name, "inbox") for name in _RECEIVERS]
    sent = [ref for number in range(senders) for ref in _refs(office, _name(number), "sent")]
    acknowledged = [
        line for path in folder.glob("acknowledged-*") for line in path.read_text().splitlines() if line
    ]
    there = Counter(boxes[0])
    everywhere = set(boxes[0]) & set(boxes[1]) & set(sent)
    anywhere = set(boxes[0]) | set(boxes[1]) | set(sent)
    return Outcome(
        acknowledged=len(acknowledged),
        killed=killed,
        there=len(there),
        lost=len(set(acknowledged) - set(there)),
        doubled=sum(1 for count in there.values() if count > 1) + len(sent) - len(set(sent)),
        partial=len(anywhere - everywhere),
        half_done=sum(1 for path in office.root.staging.glob("*.md") if path.stat().st_nlink > 1),
    )


def _refs(office: FilesystemOffice, name: str, box: str) -> list[str]:
    return [message.message_ref for message in office.mailbox(name).find(MailFilter(box=box))]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--senders", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    outcome = storm(given.folder, senders=given.senders, seconds=given.seconds)
    sys.stdout.write(json.dumps(asdict(outcome)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
