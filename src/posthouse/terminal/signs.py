"""Reads a surface for typing: reasons to refuse, and signs that a prompt was accepted. Pure."""

from collections.abc import Callable

from posthouse.terminal.screen import Screen, Surface

SCROLLED = "someone scrolls"

#: One sign may be a misread screen or an old transcript; two together are reliable.
_MIN_SIGNS = 2
#: A repaint empties the composer for less than this, also on a busy machine.
EMPTY_SECONDS = 0.25


def refusal(screen: Screen, surface: Surface, *, while_busy: bool) -> str | None:
    """Why a prompt must not be typed now; None when it may be."""
    if screen.in_mode:
        return SCROLLED
    if surface.state == "blocked":
        return blocked_reason(surface)
    if surface.composer:
        return "draft"
    if surface.is_working and while_busy and surface.composer is not None:
        return None
    return None if accepts_prompt(surface) else surface.state


def accepts_prompt(surface: Surface) -> bool:
    """Whether a prompt can be typed. True at a usage limit, too; callers decide whether to type then."""
    return surface.state == "ready" or (surface.state == "limited" and surface.composer == "")


def blocked_reason(surface: Surface) -> str:
    """The refusal for a dialog, which would consume a prompt."""
    return f"blocked:{surface.dialog or 'dialog'}"


def holds_text(surface: Surface) -> bool:
    """Whether an idle agent has text in its composer."""
    return surface.state in ("draft", "ready") and bool(surface.composer)


class SubmissionSigns:
    """Signs since Enter that the agent accepted the prompt."""

    def __init__(self, acknowledged: Callable[[], bool], *, was_busy: bool) -> None:
        self._acknowledged = acknowledged
        self._was_busy = was_busy
        self._latched: set[str] = set()
        self._empty_since: float | None = None
        self.seen: tuple[str, ...] = ()

    @property
    def is_confirmed(self) -> bool:
        """Whether there are enough signs."""
        return len(self.seen) >= _MIN_SIGNS

    def observe(self, surface: Surface, now: float) -> None:
        """Add the signs in *surface* at *now*, in seconds of any clock.

        A repaint empties the composer for a moment. So an empty composer counts only while it is empty and,
        unless the agent acknowledged the prompt, only after `EMPTY_SECONDS`.
        """
        if self._acknowledged():
            self._latched.add("acknowledged")
        if (surface.is_working or surface.state == "blocked") and not self._was_busy:
            self._latched.add("started")
        if surface.state == "exited":
            self._latched.add("exited")
        momentary = {"composer_empty"} if self._is_emptied(surface, now) else set()
        if momentary and self._was_busy and surface.is_working:
            # The text left the composer while the turn goes on: the CLI has queued it.
            momentary.add("queued")
        self.seen = tuple(sorted(self._latched)) + tuple(sorted(momentary))

    def _is_emptied(self, surface: Surface, now: float) -> bool:
        if surface.composer != "":
            self._empty_since = None
            return False
        if self._empty_since is None:
            self._empty_since = now
        return "acknowledged" in self._latched or now - self._empty_since >= EMPTY_SECONDS
