"""Readers go on wherever they were."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from posthouse.events import journal as journals
from posthouse.events.event import Event, Gap, Position
from posthouse.events.journal import Journal
from posthouse.events.reader import OLDEST, ROTATED, UNKNOWN, VANISHED, Reader, StreamItem
from posthouse.support.rotation import Retention

Story = Callable[[Journal], Awaitable[None]]


def play(path: Path, story: Story, keep: Retention | None = None) -> None:
    """Run *story* with a journal that is closed at the end."""

    async def run() -> None:
        journal = Journal(path, keep) if keep else Journal(path)
        try:
            await story(journal)
        finally:
            journal.close()

    asyncio.run(run())


def counts(told: list[StreamItem]) -> list[object]:
    return [one.fields["count"] if isinstance(one, Event) else one for one in told]


async def everything(journal: Journal, after: Position | None) -> list[StreamItem]:
    """All that a new reader is told at once."""
    reader = Reader(journal, after=after, disk=asyncio.Semaphore(2))
    told: list[StreamItem] = []
    while part := await reader.poll():
        told += part
    reader.close()
    return told


def add(journal: Journal, *numbers: int) -> None:
    for number in numbers:
        journal.add("accepted", count=number)


def test_a_new_reader_hears_what_happens_from_now_on(tmp_path: Path) -> None:
    """Nothing of before, everything of after, and it waits without asking again."""

    async def story(journal: Journal) -> None:
        add(journal, 1)
        reader = Reader(journal, after=None, disk=asyncio.Semaphore(2))
        waiting = asyncio.create_task(reader.next())
        await asyncio.sleep(0)
        add(journal, 2, 3)

        assert counts(list(await waiting)) == [2, 3]
        assert await reader.next(within_seconds=0.01) == []
        reader.close()

    play(tmp_path / "e", story)


def test_a_reader_goes_on_after_a_restart(tmp_path: Path) -> None:
    """What happened while it was away comes first, once."""
    seen: list[Position] = []

    async def before(journal: Journal) -> None:
        add(journal, 1, 2)
        told = await everything(journal, OLDEST)
        seen.append(told[0].position)
        add(journal, 3)

    async def after(journal: Journal) -> None:
        add(journal, 4)
        assert counts(await everything(journal, seen[0])) == [2, 3, 4]

    play(tmp_path / "e", before)
    play(tmp_path / "e", after)


def test_memory_and_disk_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From every event on, exactly the later ones are told, also where rotation took the memory's place."""
    monkeypatch.setattr(journals, "_RECENT_EVENTS", 5)

    async def story(journal: Journal) -> None:
        positions = []
        for number in range(40):
            add(journal, number)
            positions.append(journal.recent(after=journal.last_number - 1)[0].position)

        for number, position in enumerate(positions):
            assert counts(await everything(journal, position)) == list(range(number + 1, 40))

    play(tmp_path / "e", story, Retention(max_bytes=400, backups=40))


def test_what_was_rotated_away_is_a_declared_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader is told how much it missed; going on from the gap declares none again."""
    monkeypatch.setattr(journals, "_RECENT_EVENTS", 2)

    async def story(journal: Journal) -> None:
        add(journal, 0)
        first = journal.recent(after=0)[0].position
        add(journal, *range(1, 30))
        gap, *rest = await everything(journal, first)

        assert isinstance(gap, Gap)
        assert gap.reason == ROTATED
        assert gap.missing is not None
        # Numbers count the first lines of parts too.
        assert gap.position.number == first.number + gap.missing
        assert counts(rest) == list(range(30 - len(rest), 30))
        assert await everything(journal, Position.parse(str(gap.position))) == rest

    play(tmp_path / "e", story, Retention(max_bytes=200, backups=2))


@pytest.mark.parametrize("strange", ["1-00000000", "99-0f3a9c1e", "99-end"])
def test_an_id_of_another_history_is_a_gap_of_unknown_size(tmp_path: Path, strange: str) -> None:
    """Everything that is kept is told then: none of it was seen."""

    async def story(journal: Journal) -> None:
        add(journal, 1, 2)
        gap, *rest = await everything(journal, Position.parse(strange))

        assert gap == Gap(position=Position(number=0, check=None), missing=None, reason=UNKNOWN)
        assert counts(rest) == [1, 2]

    play(tmp_path / "e", story)


def test_a_file_that_somebody_removed_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader is never left waiting for what is gone."""
    monkeypatch.setattr(journals, "_RECENT_EVENTS", 2)

    async def story(journal: Journal) -> None:
        reader = Reader(journal, after=None, disk=asyncio.Semaphore(2))
        add(journal, *range(10))
        journal.path.unlink()
        gap, *_ = await reader.next()

        assert isinstance(gap, Gap)
        assert gap.reason == VANISHED
        assert counts(list(await reader.next())) == [8, 9]
        reader.close()

    play(tmp_path / "e", story)


def test_a_reader_that_let_too_much_pass_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be cut; one that is still reading the past is only late."""
    monkeypatch.setattr(journals, "_RECENT_EVENTS", 2)

    async def story(journal: Journal) -> None:
        live = Reader(journal, after=None, disk=asyncio.Semaphore(2))
        late = Reader(journal, after=OLDEST, disk=asyncio.Semaphore(2))
        add(journal, *range(3))

        assert (live.has_fallen_behind, late.has_fallen_behind) == (True, False)
        live.close()
        late.close()

    play(tmp_path / "e", story)
