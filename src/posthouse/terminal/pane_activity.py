"""When a pane is worth looking at, told by what its program writes: never while it writes nothing."""

import re
from collections.abc import Callable
from datetime import datetime

from posthouse.support import clock
from posthouse.support.debounce import Pacer
from posthouse.terminal.control import ControlClient

#: Icon name and title, or title alone, as programs set them.
_TITLE = re.compile(rb"\x1b\](?:0|2);([^\x07\x1b]*)(?:\x07|\x1b\\)")
_TITLE_BEGINS = b"\x1b]"
#: A title that is cut off in the middle is kept up to this.
_MAX_TITLE_BYTES = 1024
_SPINNER = re.compile("[\u2800-\u28ff]")
#: Codex blinks what stands between these.
_BLINKING = re.compile(r"\[.{0,5}\]")


class PaneFollower:
    """Calls *on_due* when a pane should be looked at: as its title changes, at pauses, else once a second."""

    def __init__(self, client: ControlClient, pane_id: str, on_due: Callable[[], None]) -> None:
        self._pane_id = pane_id
        self._pacer = Pacer(on_due)
        self._title = ""
        self._rest = b""
        #: When the program last wrote; None: not since it is followed.
        self.output_at: datetime | None = None
        self._unwatch = client.watch(self._changed)

    def close(self) -> None:
        """Stop following. A second call is an error of the caller."""
        self._unwatch()
        self._pacer.close()

    def _changed(self, pane_id: str, content: bytes) -> None:
        if pane_id != self._pane_id:
            return
        if not content:  # a person began or ended to scroll
            self._pacer.hurry()
            return
        self.output_at = clock.now()
        if self._is_retitled(content):
            self._pacer.hurry()
        else:
            self._pacer.changed()

    def _is_retitled(self, content: bytes) -> bool:
        """Whether the newest title in *content* says something else than the last."""
        content = self._rest + content
        # One byte of the beginning may have come, or all but the end.
        begun = content.rfind(b"\x1b")
        self._rest = b""
        titles = _TITLE.findall(content)
        if begun >= 0 and content[begun : begun + 2] in (b"\x1b", _TITLE_BEGINS):
            cut = content[begun:]
            if not _TITLE.match(cut) and len(cut) <= _MAX_TITLE_BYTES:
                self._rest = cut
        if not titles:
            return False
        said = steady(titles[-1].decode(errors="replace"))
        was, self._title = self._title, said
        return said != was


def steady(title: str) -> str:
    """*title* without what only moves: each picture of a spinner is the same."""
    return _BLINKING.sub("[]", _SPINNER.sub("\u28ff", title))
