"""Builds observations of a TUI's pane. Pure."""

from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Screen, Surface, plain
from posthouse.tracking.observation import Observation


def of_screen(pane: Pane, screen: Screen, surface: Surface, names: tuple[str, ...] = ()) -> Observation:
    """Observation of *screen*; *names* are the matching processes of the pane."""
    return Observation(
        reach="screen",
        pane_id=pane.pane_id,
        pane_pid=pane.pid,
        process_names=names,
        surface=surface,
        text="\n".join(plain(row).rstrip() for row in screen.rows).rstrip("\n"),
        is_scrolled=screen.in_mode,
    )


def of_nothing(detail: str, *, is_attached: bool) -> Observation:
    """Observation without a pane."""
    return Observation(reach="no_answer" if is_attached else "no_session", detail=detail)


def of_dead(pane: Pane, detail: str) -> Observation:
    """Observation of a pane whose program ended."""
    return Observation(reach="program_ended", detail=detail, pane_id=pane.pane_id, pane_pid=pane.pid)
