"""What mail costs, that a full mailbox changes nothing, and that nothing is lost when senders are killed.

    python bench/mailbox.py [--rounds 7] [--storm-seconds 60] [--quick]

Mailboxes of a hundred, ten thousand and a hundred thousand messages, measured in turn, so that a noisy
machine disturbs all of them alike; CPU seconds, because the disk is another's. What a send costs besides its
fsyncs is what it costs in memory, where an fsync does nothing. Medians are held against the goals; exits 1
when one is missed. `--quick` is a short form with fewer messages.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from posthouse.contracts import mail_document
from posthouse.contracts.mail_document import Document, Participant
from posthouse.mailbox import Draft, Flags, MailFilter, front_matter
from posthouse.mailbox.filesystem import databases, placement, registration
from posthouse.mailbox.filesystem.mailbox import FilesystemMailbox
from posthouse.mailbox.filesystem.placement import Projection
from posthouse.testing import leftovers
from posthouse.testing.mail import FilesystemOffice, address_of

_BODY = "A body of the usual length, with words in it. " * 12
_MEMORY = Path("/dev/shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is promised of one number."""

    name: str
    limit: float
    value: Callable[["Medians"], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How full the three mailboxes are."""

    few: int
    many: int
    most: int


class Medians:
    """The medians of what was measured, by name and size of the mailbox."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._samples: dict[tuple[str, int], list[float]] = {}

    def add(self, name: str, size: int, seconds: float) -> None:
        self._samples.setdefault((name, size), []).append(seconds)

    def of(self, name: str, size: int) -> float:
        return statistics.median(self._samples[name, size])

    def growth(self, name: str) -> float:
        return self.of(name, self.sizes.most) / self.of(name, self.sizes.few)

    def lines(self) -> list[str]:
        return [
            f"  {name:<28} {size:>7} messages  {statistics.median(samples) * 1e3:9.3f} ms"
            for (name, size), samples in sorted(self._samples.items())
        ]


_LIST, _ALL, _MARK, _SEND = "list 10 (CPU)", "list all (CPU)", "mark (CPU)", "send (CPU)"
_SEARCH, _AFTER = "search a rare word (CPU)", "search after a send (CPU)"
_ON_DISK, _IN_MEMORY = "send on disk (wall)", "send in memory (wall)"

GOALS = (
    Goal(
        name="list 10 of many, of 10 of few",
        limit=3.0,
        value=lambda m: m.of(_LIST, m.sizes.many) / m.of(_LIST, m.sizes.few),
    ),
    Goal(
        name="list all of many, ms CPU a message",
        limit=0.1,
        value=lambda m: m.of(_ALL, m.sizes.many) / m.sizes.many * 1e3,
    ),
    Goal(name="growth of list 10, few to most", limit=1.5, value=lambda m: m.growth(_LIST)),
    Goal(name="growth of mark, few to most", limit=1.5, value=lambda m: m.growth(_MARK)),
    Goal(name="growth of send, few to most", limit=1.5, value=lambda m: m.growth(_SEND)),
    Goal(
        name="search of few, of list 10 of few",
        limit=3.0,
        value=lambda m: m.of(_SEARCH, m.sizes.few) / m.of(_LIST, m.sizes.few),
    ),
    Goal(name="growth of search, few to most", limit=1.5, value=lambda m: m.growth(_SEARCH)),
    Goal(name="growth of search after a send", limit=1.5, value=lambda m: m.growth(_AFTER)),
    Goal(
        name="send, of its own fsyncs",
        limit=2.0,
        value=lambda m: (
            m.of(_ON_DISK, m.sizes.few) / (m.of(_ON_DISK, m.sizes.few) - m.of(_IN_MEMORY, m.sizes.few))
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A root whose `hub` holds a number of messages from `sender`."""

    size: int
    sender: FilesystemMailbox
    hub: FilesystemMailbox


def fill(folder: Path, size: int) -> Filled:
    """Make a root with *size* messages, past the delivery: one commit for all."""
    office = FilesystemOffice(folder)
    sender, hub = office.mailbox("sender"), office.mailbox("hub")
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    with databases.opened(office.root.index) as index, ExitStack() as stack:
        owners = [registration.required(index, office.root, box.address) for box in (sender, hub)]
        for owner, name in zip(owners, ("sent_box", "hub_box"), strict=True):
            stack.enter_context(databases.attached(index, owner.database, name))
        places = [Projection(owners[0], "sent"), Projection(owners[1], "inbox")]
        with databases.transaction(index):
            for number in range(size):
                document = _document(begun + timedelta(seconds=number * 7), f"{_BODY} ticket{number:06d}")
                _write(office, document, places)
                placement.insert_with_projections(index, office.root, document, places)
                placement.put(index, "sent_box", document, box="sent", is_read=True)
                placement.put(index, "hub_box", document, box="inbox", is_read=False)
    return Filled(size=size, sender=sender, hub=hub)


def _document(moment: datetime, body: str) -> Document:
    message_id = mail_document.new_message_id(moment)
    return Document(
        message_id=message_id,
        thread_id=message_id,
        created_at_utc=mail_document.created_at(moment),
        sender=Participant(principal_id="HOUMAO-sender", address=address_of("sender")),
        to=(Participant(principal_id="HOUMAO-hub", address=address_of("hub")),),
        subject=f"message of {moment:%H:%M:%S}",
        body=body,
    )


def _write(office: FilesystemOffice, document: Document, places: list[Projection]) -> None:
    path = office.root.document(document.message_id, document.date)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(front_matter.encode(document))
    for place in places:
        place.link(document.message_id).symlink_to(path)


def measure(filled: Filled, medians: Medians, *, repeats: int, list_all: bool) -> None:
    """One round on one mailbox."""
    refs = [message.message_ref for message in filled.hub.find(MailFilter(limit=repeats))]
    draft = Draft(to=(filled.hub.address,), subject="bench", body=_BODY)
    medians.add(_LIST, filled.size, _cpu(lambda _: filled.hub.find(MailFilter(limit=10)), repeats))
    medians.add(_MARK, filled.size, _cpu(lambda n: filled.hub.mark([refs[n]], Flags(answered=True)), repeats))
    medians.add(_SEND, filled.size, _cpu(lambda _: filled.sender.send(draft), repeats))
    filled.sender.send(draft)
    medians.add(_AFTER, filled.size, _cpu(lambda _: _found(filled), 1))
    medians.add(_SEARCH, filled.size, _cpu(lambda _: _found(filled), repeats))
    if list_all:
        medians.add(_ALL, filled.size, _cpu(lambda _: filled.hub.find(MailFilter()), 1))


def _found(filled: Filled) -> None:
    """Look for a word that one message has."""
    assert len(filled.hub.search("ticket000042", limit=10)) == 1


def _cpu(action: Callable[[int], object], repeats: int) -> float:
    before = time.process_time()
    for number in range(repeats):
        action(number)
    return (time.process_time() - before) / repeats


def _sends(filled: Filled, repeats: int) -> float:
    draft = Draft(to=(filled.hub.address,), subject="bench", body=_BODY)
    before = time.monotonic()
    for _ in range(repeats):
        filled.sender.send(draft)
    return (time.monotonic() - before) / repeats


def run(folder: Path, memory: Path, sizes: Sizes, *, rounds: int, repeats: int) -> Medians:
    """Fill the mailboxes and measure them in turn."""
    medians = Medians(sizes)
    filled = [fill(folder / str(size), size) for size in (sizes.few, sizes.many, sizes.most)]
    in_memory = fill(memory / "mail", sizes.few)
    for one in filled:
        _found(one)  # the first search reads every message
    for _ in range(rounds):
        for one in filled:
            measure(one, medians, repeats=repeats, list_all=one.size == sizes.many)
        medians.add(_ON_DISK, sizes.few, _sends(filled[0], repeats))
        medians.add(_IN_MEMORY, sizes.few, _sends(in_memory, repeats))
    return medians


def weather(folder: Path, seconds: float) -> list[str]:
    """Ten senders to one mailbox, killed at random. The broken promises, in words."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "posthouse.testing.mail_storm", str(folder), "--seconds", str(seconds)],
        capture_output=True,
        text=True,
        check=True,
    )
    outcome = json.loads(done.stdout)
    print(f"storm of {seconds:g} s: {outcome}")
    return [name for name in ("lost", "doubled", "partial", "half_done") if outcome[name]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--storm-seconds", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    sizes = Sizes(few=100, many=1000, most=3000) if given.quick else Sizes(few=100, many=10_000, most=100_000)
    rounds = 2 if given.quick else given.rounds
    folder = Path(tempfile.mkdtemp(prefix="posthouse-mail-", dir=leftovers.homes()))
    memory = Path(tempfile.mkdtemp(prefix="posthouse-mail-", dir=_MEMORY))
    try:
        missed = weather(folder / "storm", 5.0 if given.quick else given.storm_seconds)
        missed += judge(run(folder, memory, sizes, rounds=rounds, repeats=10))
    finally:
        # A hundred thousand messages take a while to go; what was found is printed already.
        shutil.rmtree(folder)
        shutil.rmtree(memory)
    return 1 if missed else 0


def judge(medians: Medians) -> list[str]:
    """Hold what was measured against the goals, in print. The goals that were missed."""
    print("\n".join(medians.lines()))
    missed = []
    for goal in GOALS:
        value = goal.value(medians)
        verdict = "ok" if value <= goal.limit else "MISSED"
        print(f"{verdict:<6} {goal.name:<36} {value:8.3f}  (at most {goal.limit:g})")
        missed += [goal.name] if value > goal.limit else []
    return missed


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))
