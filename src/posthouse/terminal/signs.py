"""What a surface says about typing: why not to, and whether a prompt was taken. Pure."""

from collections.abc import Callable

from posthouse.terminal.screen import Screen, Surface

SCROLLED = "someone scrolls"

#: One sign may be a misread screen or an old transcript; two are not wrong together.
_NEEDED = 2


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
        self.seen: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether there are enough to say that the agent took it."""
        return len(self.seen) >= _NEEDED

    def look(self, surface: Surface) -> None:
        """Add what *surface* shows.

        An empty composer counts only while it is empty, because a repaint empties it for a moment.
        """
        is_empty = surface.composer == ""
        if self._acknowledged():
            self._lasting.add("acknowledged")
        if (surface.is_working or surface.state == "blocked") and not self._was_busy:
            self._lasting.add("started")
        if surface.state == "exited":
            self._lasting.add("exited")
        passing = {"composer_empty"} if is_empty else set()
        if is_empty and self._was_busy and surface.is_working:
            # It took the text out of the composer and works on: its own queue has it.
            passing.add("queued")
        self.seen = tuple(sorted(self._lasting)) + tuple(sorted(passing))
