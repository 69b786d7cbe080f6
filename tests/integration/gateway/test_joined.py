"""A TUI that somebody started: no hooks, no transcript, so that the screen alone tells."""

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayClient
from posthouse.contracts.gateway_files import TrackingTimings
from posthouse.gateway_lifecycle import attach
from posthouse.sessions import current, join
from posthouse.sessions.session import Session
from posthouse.support import processes
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Tmux
from posthouse.tools.packs import captures

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any
_NAME = "mine"


class Joined:
    """A program in a person's own tmux session, joined, with a gateway."""

    def __init__(self, house: House, tool: str, argv: Sequence[str], timings: TrackingTimings) -> None:
        self._house = house
        self._tmux = Tmux(house.agents.server)
        pane = terminal.create(self._tmux, _NAME, working_directory=house.folder, environment={})
        home = house.folder / "home"
        # Below a shell, as a person has it.
        shell = ("/bin/sh", "-c", f"{shlex.join(argv)}; :")
        environment = {"POSTHOUSE_SCRIPTED_HOME": str(home)}
        self.pane = terminal.start_program(
            self._tmux, pane, shell, environment=environment, working_directory=house.folder
        )
        spec = join.JoinSpec(tool=tool, name=_NAME, working_directory=house.folder, home=home)
        here = current.TmuxLocation(house.agents.server, _NAME)
        session: Session = join.join(spec, here, house.agents.roots, house.registry)
        house.sessions.append(session)
        attach.attach(session, house.registry, environment=os.environ, timings=timings)
        self.client: GatewayClient = house.client(session)

    def until(self, state: str, **more: Any) -> dict[str, Any]:
        """The belief once it is *state*, with those other fields."""
        found: dict[str, Any] = {}

        def is_so() -> bool:
            found.update(self.client.tui_belief())
            return found["state"] == state and all(found[name] == value for name, value in more.items())

        self._house.until(is_so)
        return found

    def type(self, text: str) -> None:
        """Type *text* as a person does, who presses Enter when it is all there."""
        self._tmux.run("send-keys", "-t", self.pane.pane_id, "-l", text)
        self.until("draft", draft=text)
        self._tmux.run("send-keys", "-t", self.pane.pane_id, "Enter")


def test_a_turn_that_only_the_screen_tells_of(house: House) -> None:
    """Standing still means success; a program that hangs is taken for ready, and not for successful."""
    persona = ("--persona", "plain+no-hooks+no-transcript")
    program = (sys.executable, "-m", "posthouse.tools.scripted.program", *persona)
    joined = Joined(house, "scripted", program, TrackingTimings(final_stable_active_recovery_seconds=2))
    joined.until("ready", outcome="none")
    joined.type("by hand [[say done]]")
    success = joined.until("ready", outcome="success")
    joined.type("long [[wait 600]]")
    joined.until("active")
    hung = processes.tree(joined.pane.pid)[-1].pid
    os.kill(hung, signal.SIGSTOP)
    try:
        recovered = joined.until("ready")
        told = joined.client.tui_state()
    finally:
        os.kill(hung, signal.SIGCONT)

    assert {one["source"]: one["says"] for one in success["evidence"]} == {
        "process": "running",
        "title": "idle",
        "screen": "ready",
    }
    assert (recovered["outcome"], recovered["decided_by"]) == ("none", ["screen"])
    assert recovered["detail"].startswith("the screen shows a turn, but has not changed for ")
    assert (told["turn"]["phase"], told["last_turn"]["result"]) == ("ready", "none")


def test_a_status_row_that_was_left_behind_is_not_believed_for_long(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a title that says so, an old status row above an empty composer is soon no turn any more."""
    screen = captures.screen(captures.folder_of("codex"), "active-thinking")
    painted = house.folder / "painted"
    painted.write_text("\x1b[H" + "\n".join(screen.rows))
    monkeypatch.setenv("PATH", f"{_codex(house.folder)}:{os.environ['PATH']}")
    program = ("codex", str(painted))
    timings = TrackingTimings(stale_active_recovery_seconds=3, final_stable_active_recovery_seconds=600)

    joined = Joined(house, "codex", program, timings)
    recovered = joined.until("ready")

    states = [entry["turn"]["phase"] for entry in joined.client.tui_history(limit=0)["entries"]]
    assert states[-2:] == ["active", "ready"]
    assert (recovered["outcome"], recovered["decided_by"]) == ("none", ["screen"])
    assert recovered["detail"].startswith("the screen shows a turn, but has not changed for ")


def _codex(folder: Path) -> Path:
    """A folder with a program of that name, which shows a file and hangs."""
    program = folder / "bin" / "codex"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ncat "$1"\nexec sleep 600\n')
    program.chmod(0o755)
    return program.parent
