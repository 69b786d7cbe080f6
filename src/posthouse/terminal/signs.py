"""What a surface says about typing: why not to, and whether a prompt was taken. Pure."""

from collections.abc import Callable

from posthouse.terminal.screen import Screen, Surface

SCROLLED = "someone scrolls"

#: One sign may be a misread screen or an old transcript; two are not wrong together.
_NEEDED = 2
#: A repaint empties the composer for less than this, also on a busy machine.
EMPTY_SECONDS = 0.25


def refusal(screen: Screen, surface: Surface, *, while_busy: bool) -> str | None:
    """Why a prompt must not be typed now; None when it may be."""
    if screen.in_mode:
        return SCROLLED
    if surface.state == "blocked":
        return blocked(surface)
    if surface.composer:
        return "draft"
    if surface.is_working and while_busy and surface.composer is not None:
        return None
    return None if takes_prompt(surface) else surface.state


def takes_prompt(surface: Surface) -> bool:
    """Whether a prompt can be typed. At a usage limit it can, too; whether it should is for others to say."""
    return surface.state == "ready" or (surface.state == "limited" and surface.composer == "")


def blocked(surface: Surface) -> str:
    """The word for a dialog that would eat a prompt."""
    return f"blocked:{surface.dialog or 'dialog'}"


def holds_text(surface: Surface) -> bool:
    """Whether an idle agent has text standing in its composer."""
    return surface.state in ("draft", "ready") and bool(surface.composer)


class Signs:
    """What has been seen since Enter that speaks for the prompt having been taken."""

    def __init__(self, acknowledged: Callable[[], bool], *, was_busy: bool) -> None:
        self._acknowledged = acknowledged
        self._was_busy = was_busy
        self._lasting: set[str] = set()
        self._empty_since: float | None = None
        self.seen: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether there are enough to say that the agent took it."""
        return len(self.seen) >= _NEEDED

    def look(self, surface: Surface, now: float) -> None:
        """Add what *surface* shows at *now*, in seconds of any clock.

        A repaint empties the composer for a moment. So an empty one counts only while it is empty and, unless
        the agent itself acknowledged the prompt, only when it has been for a while.
        """
        if self._acknowledged():
            self._lasting.add("acknowledged")
        if (surface.is_working or surface.state == "blocked") and not self._was_busy:
            self._lasting.add("started")
        if surface.state == "exited":
            self._lasting.add("exited")
        passing = {"composer_empty"} if self._is_emptied(surface, now) else set()
        if passing and self._was_busy and surface.is_working:
            # It took the text out of the composer and works on: its own queue has it.
            passing.add("queued")
        self.seen = tuple(sorted(self._lasting)) + tuple(sorted(passing))

    def _is_emptied(self, surface: Surface, now: float) -> bool:
        if surface.composer != "":
            self._empty_since = None
            return False
        if self._empty_since is None:
            self._empty_since = now
        return "acknowledged" in self._lasting or now - self._empty_since >= EMPTY_SECONDS
