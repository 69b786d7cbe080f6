"""Numbers of lines, over restarts and rotations."""

from pathlib import Path

import pytest

from posthouse.events import history
from posthouse.events.event import BadPosition, Position
from posthouse.events.history import HistoryReader
from posthouse.events.journal import Journal
from posthouse.support.rotation import Retention

SMALL = Retention(max_bytes=250, backups=2)


def told(path: Path, *, after: int = 0) -> list[tuple[int, int]]:
    """Number and content of every event that is kept."""
    with HistoryReader(path, after=after) as reading:
        found = []
        while events := reading.next():
            found += [(event.number, event.fields["count"]) for event in events]
        return found


def test_numbers_go_on_over_restarts_and_rotations(tmp_path: Path) -> None:
    """A number means the same event for ever, whatever part of the file it is in."""
    path = tmp_path / "events.jsonl"
    given: list[tuple[int, int]] = []
    for start in range(0, 20, 5):
        journal = Journal(path, SMALL)
        for count in range(start, start + 5):
            journal.add("accepted", count=count)
            given.append((journal.last_number, count))
        journal.close()

    kept = told(path)

    assert len(list(tmp_path.iterdir())) == 3
    assert 0 < len(kept) < len(given)
    assert kept == given[-len(kept) :]
    assert history.line_count(path) == given[-1][0]


def test_a_line_that_broke_off_has_a_number_and_is_not_told(tmp_path: Path) -> None:
    """What a killed gateway left half is not taken for the next event."""
    path = tmp_path / "events.jsonl"
    journal = Journal(path)
    journal.add("accepted", count=1)
    journal.close()
    with path.open("ab") as stream:
        stream.write(b'{"kind": "acc')
    journal = Journal(path)
    journal.add("accepted", count=2)
    journal.close()

    assert told(path) == [(1, 1), (3, 2)]


def test_a_part_without_its_first_line_is_counted(tmp_path: Path) -> None:
    """Whoever died between the rotation and the first line of the new part loses no number."""
    path = tmp_path / "events.jsonl"
    journal = Journal(path)
    for count in (1, 2):
        journal.add("accepted", count=count)
    journal.close()
    path.rename(tmp_path / "events.jsonl.1")
    journal = Journal(path)
    journal.add("accepted", count=3)
    journal.close()

    assert told(path) == [(1, 1), (2, 2), (3, 3)]
    assert told(path, after=2) == [(3, 3)]


def test_a_rotation_while_somebody_reads_takes_nothing_away(tmp_path: Path) -> None:
    """The parts that were open stay readable."""
    path = tmp_path / "events.jsonl"
    journal = Journal(path, SMALL)
    journal.add("accepted", count=0)
    with HistoryReader(path, after=0) as reading:
        for count in range(1, 30):
            journal.add("accepted", count=count)
        events = reading.next()
    journal.close()

    assert (events[0].number, events[0].fields["count"]) == (1, 0)


def test_an_id_is_of_one_event_only(tmp_path: Path) -> None:
    """After a power cut another event may have the number; it is not mistaken for the old one."""
    path = tmp_path / "events.jsonl"
    journal = Journal(path)
    journal.add("accepted", count=1)
    (event,) = journal.recent(after=0)
    journal.close()

    assert history.locate(path, event.position) == (1, True)
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    assert history.locate(path, event.position) == (1, False)


@pytest.mark.parametrize(
    "text", ["", "1", "1-", "x-00000000", "1-0000000g", "1-00000000 ", "-1-00000000", "١-end"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    """Only what a gateway gave is taken."""
    with pytest.raises(BadPosition):
        Position.parse(text)


@pytest.mark.parametrize("text", ["42-0f3a9c1e", "0-end"])
def test_an_id_is_read_as_it_was_written(text: str) -> None:
    """Ids survive the way out and back."""
    assert str(Position.parse(text)) == text
