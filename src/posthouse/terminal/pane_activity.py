"""Schedules captures of a pane from its output; no output, no captures."""

import re
from collections.abc import Callable
from datetime import datetime

from posthouse.support import clock
from posthouse.support.debounce import Debouncer
from posthouse.terminal.control import ControlClient

#: Icon name and title, or title alone, as programs set them.
_TITLE = re.compile(rb"\x1b\](?:0|2);([^\x07\x1b]*)(?:\x07|\x1b\\)")
_TITLE_BEGINS = b"\x1b]"
#: A title that is cut off in the middle is kept up to this.
_MAX_TITLE_BYTES = 1024
_SPINNER = re.compile("[\u2800-\u28ff]")
#: Codex blinks the text in brackets.
_BLINKING = re.compile(r"\[.{0,5}\]")


class PaneFollower:
    """Calls *on_due* when the pane should be captured: on a new title, at pauses, else once a second."""

    def __init__(self, client: ControlClient, pane_id: str, on_due: Callable[[], None]) -> None:
        self._pane_id = pane_id
        self._debouncer = Debouncer(on_due)
        self._title = ""
        self._rest = b""
        #: When the program last wrote; None: not since following began.
        self.output_at: datetime | None = None
        self._unwatch = client.watch(self._changed)

    def close(self) -> None:
        """Stop following. A second call is an error of the caller."""
        self._unwatch()
        self._debouncer.close()

    def _changed(self, pane_id: str, content: bytes) -> None:
        if pane_id != self._pane_id:
            return
        if not content:  # copy mode began or ended
            self._debouncer.trigger()
            return
        self.output_at = clock.now()
        if self._is_retitled(content):
            self._debouncer.trigger()
        else:
            self._debouncer.mark_changed()

    def _is_retitled(self, content: bytes) -> bool:
        """Whether the newest title in *content* differs from the last."""
        content = self._rest + content
        # A title sequence may be split anywhere between two reads.
        begun = content.rfind(b"\x1b")
        self._rest = b""
        titles = _TITLE.findall(content)
        if begun >= 0 and content[begun : begun + 2] in (b"\x1b", _TITLE_BEGINS):
            cut = content[begun:]
            if not _TITLE.match(cut) and len(cut) <= _MAX_TITLE_BYTES:
                self._rest = cut
        if not titles:
            return False
        title = without_animation(titles[-1].decode(errors="replace"))
        previous, self._title = self._title, title
        return title != previous


def without_animation(title: str) -> str:
    """*title* with spinner frames and blinking text replaced by constants."""
    return _BLINKING.sub("[]", _SPINNER.sub("\u28ff", title))
