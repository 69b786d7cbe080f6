"""Following a running program's files: canonical events for readers, text for the pane."""

import os
from collections.abc import Iterable, Iterator

from posthouse.contracts.events import CanonicalEvent
from posthouse.turns.event_decoding import Narrator, encode
from posthouse.turns.folder import Folder
from posthouse.turns.pane import Pane
from posthouse.turns.render import Renderer
from posthouse.turns.tail import Tail

#: Events are appended in batches of about this size.
_BATCH_BYTES = 64 * 1024


class Telling:
    """Reads what the program wrote since the last time and passes it on."""

    def __init__(self, folder: Folder, narrator: Narrator, renderer: Renderer, pane: Pane) -> None:
        self._stdout = Tail(folder.stdout)
        self._stderr = Tail(folder.stderr)
        self._narrator = narrator
        self._renderer = renderer
        self._pane = pane
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._canonical = os.open(folder.canonical, append, 0o600)

    def advance(self) -> bool:
        """Pass on whole lines. True when there were any."""
        return self._pass_on(self._told(is_last=False))

    def finish(self) -> None:
        """Pass on all that is left, a line without its end included. Then all of it is on disk.

        The exit code that follows is durable, and must not survive what it is judged with.
        """
        self._pass_on(self._told(is_last=True))
        self._stdout.sync()
        self._stderr.sync()
        os.fsync(self._canonical)

    def _told(self, *, is_last: bool) -> Iterator[CanonicalEvent]:
        for line in self._stdout.finish() if is_last else self._stdout.read():
            yield from self._narrator.stdout(line)
        for line in self._stderr.finish() if is_last else self._stderr.read():
            yield from self._narrator.stderr(line)

    def _pass_on(self, events: Iterable[CanonicalEvent]) -> bool:
        batch, was_any = bytearray(), False
        for event in events:
            was_any = True
            batch += encode(event)
            self._pane.write(self._renderer.feed(event))
            if len(batch) > _BATCH_BYTES:
                self._append(batch)
                batch = bytearray()
        self._append(batch)
        self._pane.flush()
        return was_any

    def _append(self, data: bytes | bytearray) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._canonical, left) :]
