"""What a look at a TUI's pane showed, put into one value."""

import asyncio
from pathlib import Path

from posthouse.sessions.session import Session
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import Screen, Surface, plain
from posthouse.tools.tool import Tool
from posthouse.tracking.sight import Ended, Sight

#: A turn that is over shows as one of these; while it runs, nobody needs the transcript.
_AT_REST = ("ready", "draft")


async def of_screen(tool: Tool, session: Session, pane: Pane, screen: Screen, surface: Surface) -> Sight:
    """What *screen* shows, and which turn the agent's transcript says is over."""
    is_at_rest = surface.state in _AT_REST
    return Sight(
        reach="screen",
        pane_id=pane.pane_id,
        pane_pid=pane.pid,
        surface=surface,
        text="\n".join(plain(row).rstrip() for row in screen.rows).rstrip("\n"),
        is_scrolled=screen.in_mode,
        ended=await asyncio.to_thread(_newest_ended, tool, session) if is_at_rest else None,
    )


def of_nothing(detail: str, *, is_attached: bool) -> Sight:
    """There is no pane to look at."""
    return Sight(reach="no_answer" if is_attached else "no_session", detail=detail)


def of_dead(pane: Pane, detail: str) -> Sight:
    """There is a pane, and no program in it any more."""
    return Sight(reach="program_ended", detail=detail, pane_id=pane.pane_id, pane_pid=pane.pid)


def _newest_ended(tool: Tool, session: Session) -> Ended | None:
    manifest = session.manifest
    home = Path(manifest.launch_plan.home_selector.home_path)
    for exchange in reversed(tool.exchanges(home, Path(manifest.working_directory))):
        if exchange.outcome is not None:
            return Ended(submitted_at_utc=exchange.submitted_at_utc, outcome=exchange.outcome)
    return None
