"""Each real CLI through a gateway's eyes: one start, every state, while a person types and scrolls."""

import importlib
import os
import pty
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayClient
from posthouse.gateway_lifecycle import attach
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, client_environment
from posthouse.testing import clis
from posthouse.testing.delivery import rig, subjects
from posthouse.testing.model_api import ModelApi
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

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
#: What makes input wait for the end of the turn.
_QUEUEING = {"claude": "Enter", "codex": "Tab", "gemini": "Enter"}
_WAITING = "waits mock:ok"
#: After this long, what was pressed has not been taken.
_LOST_SECONDS = 1.0


class Watched:
    """One CLI with its gateway."""

    def __init__(self, session: Session, client: GatewayClient, api: ModelApi, gate: Path) -> None:
        self.session, self.client, self.api, self.gate = session, client, api, gate

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

        wait_for(look, told=lambda: f"it is {last}")
        return last

    def tmux(self, command: str, *words: str) -> None:
        pane = terminal.agent_pane(self.session.tmux, self.session.tmux_session_name)
        self.session.tmux.run(command, "-t", pane.pane_id, *words)

    @contextmanager
    def person(self) -> Iterator[Callable[[str], None]]:
        """Somebody whose own terminal is attached, and who types what is given."""
        master, slave = pty.openpty()
        server, name = self.session.tmux.server, self.session.tmux_session_name
        command = ["tmux", *server.arguments(), "attach-session", "-t", f"={name}"]
        with subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**client_environment(os.environ), "TERM": "xterm-256color"},
            start_new_session=True,
        ) as client:
            os.close(slave)
            looking = threading.Thread(target=_look_at, args=(master,))
            looking.start()
            try:
                wait_for(lambda: str(client.pid) in self._attached().split())
                yield lambda text: _write(master, text)
            finally:
                client.terminate()
                client.wait(LIMIT_SECONDS)
                looking.join(LIMIT_SECONDS)
                os.close(master)

    def _attached(self) -> str:
        name = self.session.tmux_session_name
        return self.session.tmux.run("list-clients", "-t", f"={name}", "-F", "#{client_pid}")


@pytest.fixture(params=["claude", "codex", "gemini"])
def watched(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    agent_clis: Path,
    model_api: ModelApi,
    cli_home: Path,
    tmux_server: Server,
) -> Iterator[Watched]:
    """The CLI, launched as a user launches it, with a gateway of its own that is there before it paints."""
    monkeypatch.setenv("PATH", clis.search_path(agent_clis, os.environ["PATH"]))
    gate = _held_back(request.param, cli_home, monkeypatch)
    subject = subjects.real(request.param, model_api, cli_home)
    registry = Registry(cli_home / "registry")
    with rig.launched(subject, cli_home, tmux_server) as session:
        attach.attach(session, registry, environment=os.environ)
        there = attach.live(session)
        assert there is not None
        try:
            yield Watched(session, GatewayClient(there.host, there.port), model_api, gate)
        finally:
            attach.detach(session, registry)


def _held_back(tool: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the CLI's program waits for: otherwise a quick one is up before its gateway is."""
    install = importlib.import_module(f"posthouse.tools.{tool}.install")
    gate, program = folder / "gate", folder / "held-back"
    waiting = f"until [ -e {shlex.quote(str(gate))} ]; do sleep 0.05; done"
    program.write_text(f'#!/bin/sh\n{waiting}\nexec {shlex.quote(install.executable())} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(install, "executable", lambda: str(program))
    return gate


def test_every_state_is_reached_and_reported(watched: Watched) -> None:
    """Nobody contradicts anybody on the way, and a person at the terminal confuses nobody."""
    watched.until("starting")
    watched.gate.touch()
    watched.until("ready")
    _a_person_types(watched)
    _works_and_ends(watched)
    _asks(watched)
    _is_interrupted(watched)
    _fails(watched)
    watched.session.tmux.run("kill-session", "-t", f"={watched.session.tmux_session_name}")
    watched.until("exited")


def _a_person_types(watched: Watched) -> None:
    with watched.person() as types:
        types("half a thought")
        watched.until("draft", draft="half a thought")
        watched.tmux("copy-mode")
        watched.until("draft", is_scrolled=True)
        watched.tmux("send-keys", "-X", "cancel")
        watched.until("draft", is_scrolled=False)
        for _ in range(14):
            types("\x7f")
        watched.until("ready", draft="")


def _works_and_ends(watched: Watched) -> None:
    watched.client.submit_prompt("first mock:hold")
    watched.until("active")
    _input_waits(watched)
    name = watched.session.tmux_session_name
    watched.session.tmux.run("resize-window", "-t", f"={name}:0", "-x", "100", "-y", "30")
    watched.api.release()
    wait_for(lambda: _WAITING in [one.prompt for one in watched.api.main_records()])
    watched.until("ready", outcome="success", disagreement=None)


def _input_waits(watched: Watched) -> None:
    """Type, and press until it waits: a CLI may lose a key that comes right after what was typed."""
    watched.tmux("send-keys", "-l", _WAITING)
    watched.until("active", draft=_WAITING)
    pressed_at = -_LOST_SECONDS

    def is_queued(belief: dict[str, Any]) -> bool:
        nonlocal pressed_at
        if belief["draft"] == _WAITING and time.monotonic() - pressed_at > _LOST_SECONDS:
            pressed_at = time.monotonic()
            watched.tmux("send-keys", _QUEUEING[watched.session.manifest.tool])
        return bool(belief["state"] == "queued")

    watched.seen(is_queued)


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


def _look_at(master: int) -> None:
    """Take what a terminal is shown, as whoever sits there does; a full one would stop the client."""
    while True:
        try:
            if not os.read(master, 1 << 16):
                return
        except OSError:  # the client has gone, and the terminal with it
            return


def _write(master: int, text: str) -> None:
    os.write(master, text.encode())
