"""Each real CLI through a gateway's eyes: one start, every state, while a person types and scrolls."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayClient
from posthouse.gateway import attach
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server
from posthouse.testing import clis
from posthouse.testing.cli_rig import wait_for
from posthouse.testing.delivery import rig, subjects
from posthouse.testing.model_api import ModelApi

#: A real CLI on a busy machine.
_SECONDS = 90.0
#: A prompt that makes the CLI ask for permission, the dialog's name, and a choice that refuses.
_ASKING = {
    "claude": ('[[mock {"shell": "env > ran"}]] mock:ok', "permission"),
    "codex": (
        '[[mock {"tool": "exec_command", "args": {"cmd": "touch asked", "sandbox_permissions": '
        '"require_escalated", "justification": "scripted need"}}]] mock:ok',
        "approval",
    ),
    "gemini": ("mock:shell mock:ok", "permission"),
}


class Watched:
    """One CLI with its gateway."""

    def __init__(self, session: Session, client: GatewayClient) -> None:
        self.session, self.client = session, client

    def until(self, state: str, **more: Any) -> dict[str, Any]:
        """The belief once it is *state*, with those other fields."""
        return self.seen(
            lambda belief: (
                belief["state"] == state and all(belief[name] == value for name, value in more.items())
            )
        )

    def seen(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        last: dict[str, Any] = {}

        def look() -> bool:
            last.update(self.client.tui_belief())
            return is_so(last)

        try:
            wait_for(look, seconds=_SECONDS)
        except AssertionError:
            raise AssertionError(f"it is {last}") from None
        return last

    def tmux(self, command: str, *words: str) -> None:
        pane = terminal.agent_pane(self.session.tmux, self.session.tmux_session_name)
        self.session.tmux.run(command, "-t", pane.pane_id, *words)


@pytest.fixture(params=["claude", "codex", "gemini"])
def watched(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    agent_clis: Path,
    model_api: ModelApi,
    cli_home: Path,
    tmux_server: Server,
) -> Iterator[Watched]:
    """The CLI, launched as a user launches it, with a gateway of its own."""
    monkeypatch.setenv("PATH", clis.search_path(agent_clis, os.environ["PATH"]))
    subject = subjects.real(request.param, model_api, cli_home)
    registry = Registry(cli_home / "registry")
    with rig.launched(subject, cli_home, tmux_server) as session:
        attach.attach(session, registry, environment=os.environ)
        there = attach.live(session)
        assert there is not None
        try:
            yield Watched(session, GatewayClient(there.host, there.port))
        finally:
            attach.detach(session, registry)


def test_every_state_is_reached_and_reported(watched: Watched) -> None:
    """Nobody contradicts anybody on the way, and a person at the terminal confuses nobody."""
    watched.until("ready")
    _a_person_types(watched)
    _works_and_ends(watched)
    _asks(watched)
    _is_interrupted(watched)
    _fails(watched)
    watched.session.tmux.run("kill-session", "-t", f"={watched.session.tmux_session_name}")
    watched.until("exited")


def _a_person_types(watched: Watched) -> None:
    watched.tmux("send-keys", "-l", "half a thought")
    watched.until("draft", draft="half a thought")
    watched.tmux("copy-mode")
    watched.until("draft", is_scrolled=True)
    watched.tmux("send-keys", "-X", "cancel")
    watched.until("draft", is_scrolled=False)
    watched.tmux("send-keys", "-N", "14", "BSpace")
    watched.until("ready", draft="")


def _works_and_ends(watched: Watched) -> None:
    watched.client.submit_prompt("first mock:slow")
    watched.until("active")
    name = watched.session.tmux_session_name
    watched.session.tmux.run("resize-window", "-t", f"={name}:0", "-x", "100", "-y", "30")
    watched.until("ready", outcome="success", disagreement=None)


def _asks(watched: Watched) -> None:
    prompt, dialog = _ASKING[watched.session.manifest.tool]
    watched.client.submit_prompt(prompt)
    belief = watched.seen(lambda one: one["state"] == "blocked" and one["dialog"]["name"] == dialog)
    labels = [choice["label"] for choice in belief["dialog"]["choices"]]
    answered = watched.client.answer(labels[0], dialog=dialog)
    watched.until("ready", outcome="success")

    assert answered["outcome"] == "answered"


def _is_interrupted(watched: Watched) -> None:
    watched.client.submit_prompt("second mock:slow")
    watched.until("active")
    watched.seen(lambda one: "w0000" in watched.client.tui_state()["probe_snapshot"]["captured_text_excerpt"])
    watched.client.interrupt()
    watched.until("ready", outcome="interrupted", disagreement=None)


def _fails(watched: Watched) -> None:
    watched.client.submit_prompt("third mock:400")
    belief = watched.until("ready", outcome="error")

    assert (belief["error_kind"], belief["drift_alarm_at_utc"]) == ("api_error", None)
