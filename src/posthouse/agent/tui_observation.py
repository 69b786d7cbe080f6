"""What a look at a TUI's pane showed, put into one value. Pure."""

from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Screen, Surface, plain
from posthouse.tracking.observation import Sight


def of_screen(pane: Pane, screen: Screen, surface: Surface, names: tuple[str, ...] = ()) -> Sight:
    """What *screen* shows, in a pane whose programs are called *names*."""
    return Sight(
        reach="screen",
        pane_id=pane.pane_id,
        pane_pid=pane.pid,
        process_names=names,
        surface=surface,
        text="\n".join(plain(row).rstrip() for row in screen.rows).rstrip("\n"),
        is_scrolled=screen.in_mode,
    )


def of_nothing(detail: str, *, is_attached: bool) -> Sight:
    """There is no pane to look at."""
    return Sight(reach="no_answer" if is_attached else "no_session", detail=detail)


def of_dead(pane: Pane, detail: str) -> Sight:
    """There is a pane, and no program in it any more."""
    return Sight(reach="program_ended", detail=detail, pane_id=pane.pane_id, pane_pid=pane.pid)
