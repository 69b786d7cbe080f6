"""Follows a running program's output files: writes canonical events to disk and text to the pane."""

import os
from collections.abc import Iterable, Iterator

from posthouse.contracts.events import CanonicalEvent
from posthouse.turns.event_decoding import EventDecoder, encode
from posthouse.turns.folder import Folder
from posthouse.turns.pane import PaneOutput
from posthouse.turns.render import Renderer
from posthouse.turns.tail import Tail

#: Events are appended in batches of about this size.
_BATCH_BYTES = 64 * 1024


class OutputFollower:
    """Reads new output of the program and writes its events."""

    def __init__(self, folder: Folder, decoder: EventDecoder, renderer: Renderer, pane: PaneOutput) -> None:
        self._stdout = Tail(folder.stdout)
        self._stderr = Tail(folder.stderr)
        self._decoder = decoder
        self._renderer = renderer
        self._pane = pane
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._canonical = os.open(folder.canonical, append, 0o600)

    def advance(self) -> bool:
        """Process complete lines. True if there were any."""
        return self._write_events(self._events(is_last=False))

    def finish(self) -> None:
        """Process the rest, including an incomplete last line, then fsync all files.

        The exit code that follows is durable and must not survive a power cut without the output.
        """
        self._write_events(self._events(is_last=True))
        self._stdout.sync()
        self._stderr.sync()
        os.fsync(self._canonical)

    def _events(self, *, is_last: bool) -> Iterator[CanonicalEvent]:
        for line in self._stdout.finish() if is_last else self._stdout.read():
            yield from self._decoder.stdout(line)
        for line in self._stderr.finish() if is_last else self._stderr.read():
            yield from self._decoder.stderr(line)

    def _write_events(self, events: Iterable[CanonicalEvent]) -> bool:
        batch, had_events = bytearray(), False
        for event in events:
            had_events = True
            batch += encode(event)
            self._pane.write(self._renderer.feed(event))
            if len(batch) > _BATCH_BYTES:
                self._append(batch)
                batch = bytearray()
        self._append(batch)
        self._pane.flush()
        return had_events

    def _append(self, data: bytes | bytearray) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._canonical, left) :]
