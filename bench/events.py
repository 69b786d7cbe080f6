"""What telling an event costs the gateway, by how many read along.

    python bench/events.py [EVENTS]

CPU time of the whole process per event, with 1 and 50 readers that keep up, as a ratio to none. Readers take
events in batches, so that fifty cost far less than fifty times one. Ends with 1 when over a goal.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from posthouse.events.journal import Journal
from posthouse.events.readers import EventReaders
from posthouse.testing import leftovers
from posthouse.web.event_stream import encode_items, everything

_EVENTS = 20_000
#: Events that come at once, as a busy gateway has them.
_BURST = 10
#: Times the cost of an event that nobody reads.
_GOALS = {1: 3.0, 50: 60.0}


async def _cost(readers: int, count: int, folder: Path) -> float:
    """Seconds of CPU for one event."""
    journal = Journal(folder / f"events-{readers}.jsonl")
    event_readers = EventReaders(journal)
    heard = [0] * readers

    async def follow(index: int) -> None:
        reader = event_readers.add_reader(None)
        while heard[index] < count:
            told = await reader.next()
            encode_items(told, everything)
            heard[index] += len(told)
        event_readers.remove_reader(reader)

    following = [asyncio.create_task(follow(index)) for index in range(readers)]
    await asyncio.sleep(0)
    begun = time.process_time()
    for number in range(count):
        journal.add("accepted", request_id=f"gwreq-{number}", request_kind="submit_prompt")
        if number % _BURST == _BURST - 1:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    await asyncio.gather(*following)
    used = time.process_time() - begun
    journal.close()
    return used / count


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _EVENTS
    with tempfile.TemporaryDirectory() as folder:
        costs = {readers: asyncio.run(_cost(readers, count, Path(folder))) for readers in (0, *_GOALS)}
    print(f"nobody reads   {costs[0] * 1e6:6.1f} µs of CPU an event")
    is_over = False
    for readers, goal in _GOALS.items():
        ratio = costs[readers] / costs[0]
        is_over |= ratio > goal
        told = f"{costs[readers] * 1e6:6.1f} µs  {ratio:4.1f} times (goal {goal:g})"
        print(f"{readers:>2} readers     {told}")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))
