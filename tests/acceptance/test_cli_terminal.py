"""What commands print on a terminal of text that wants to steer it."""

import os
import pty
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from posthouse.testing.waiting import LIMIT_SECONDS, wait_for

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

#: Sets the title and the clipboard, in seven and eight bits, and reorders text.
HOSTILE = "x\x1b]0;owned\x07\x1b]52;c;eA==\x07\x9b31m\x7f\u202ey"
SHOWN = "x\\x1b]0;owned\\x07\\x1b]52;c;eA==\\x07\\x9b31m\\x7f\\u202ey"
_STEERING = ("\x1b", "\x07", "\x9b", "\x7f", "\u202e")


class OnTerminal:
    """A command whose stdout and stderr are a terminal of its own."""

    def __init__(self, posthouse: "Commands", *words: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            posthouse.argv(*words),
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
            env=posthouse.environment | {"LANG": "C.UTF-8", "TERM": "xterm"},
            cwd=posthouse.workdir,
        )
        os.close(slave)
        self._seen = b""
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    @property
    def text(self) -> str:
        # The terminal itself begins a line with a carriage return.
        return self._seen.decode().replace("\r\n", "\n")

    def end(self) -> str:
        """Everything it printed, when it has ended."""
        self.process.wait(LIMIT_SECONDS)
        self._reading.join(LIMIT_SECONDS)
        os.close(self._master)
        return self.text

    def _read(self) -> None:
        try:
            while piece := os.read(self._master, 65536):
                self._seen += piece
        except OSError:
            pass  # Linux says so when the last one has closed the other end


def _checked(posthouse: "Commands", *words: str, shows: str = SHOWN) -> None:
    text = OnTerminal(posthouse, *words).end()

    assert shows in text, (words, text)
    assert [one for one in _STEERING if one in text] == [], words


@pytest.fixture
def spoken(posthouse: "Commands") -> "Commands":
    """An agent that has said something hostile."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--headless")
    assert HOSTILE in posthouse.ok("agents", "prompt", "one", "--wait", f"[[say {HOSTILE}]]")
    return posthouse


def test_an_answer_does_not_steer_the_terminal_that_shows_it(spoken: "Commands") -> None:
    """Each command writes control characters out; a pipe gets the answer exactly, and JSON its value."""
    request_id = spoken.json("agents", "requests", "list", "one")["requests"][0]["request_id"]

    _checked(spoken, "agents", "prompt", "one", "--wait", f"[[say {HOSTILE}]]")
    _checked(spoken, "agents", "last", "one")
    _checked(spoken, "agents", "last", "one", "--print-fancy")
    _checked(spoken, "agents", "last", "one", "--json", shows="\\u001b]0;owned")
    _checked(spoken, "agents", "requests", "list", "one", shows="completed")
    _checked(spoken, "agents", "requests", "show", "one", request_id)
    _checked(spoken, "agents", "logs", "one", shows="")
    _checked(spoken, "agents", "turn", "events", "one", "last")
    _checked(spoken, "agents", "turn", "stdout", "one", "last", shows="owned")
    assert HOSTILE in spoken.ok("agents", "last", "one")
    assert spoken.json("agents", "last", "one")["answer"] == HOSTILE


def test_watching_an_agent_does_not_steer_the_terminal(spoken: "Commands") -> None:
    """Events that hold such text are shown with it written out."""
    watching = OnTerminal(spoken, "agents", "watch", "one", "--since", "start")
    try:
        wait_for(lambda: "completed" in watching.text, told=lambda: watching.text)
    finally:
        watching.process.send_signal(signal.SIGINT)
        text = watching.end()

    assert [one for one in _STEERING if one in text] == []


def test_mail_does_not_steer_the_terminal_that_shows_it(posthouse: "Commands") -> None:
    """Its body and its thread are shown with control characters written out."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--headless")
    sent = posthouse.json(
        *("agents", "mail", "send", "one", "--to", "one@houmao.localhost"),
        *("--subject", "hello", "--body-content", HOSTILE),
    )
    ref = sent["message"]["message_ref"]

    _checked(posthouse, "agents", "mail", "read", "one", "--message-ref", ref)
    _checked(posthouse, "agents", "mail", "thread", "one", "--message-ref", ref)
    _checked(posthouse, "agents", "mail", "check", "one", shows="hello")


def test_an_error_does_not_steer_the_terminal(posthouse: "Commands") -> None:
    """It repeats what was given, written out."""
    _checked(posthouse, "agents", "last", f"no{HOSTILE}", shows="error: ")
    _checked(posthouse, "agents", f"no{HOSTILE}", shows="error: ")
