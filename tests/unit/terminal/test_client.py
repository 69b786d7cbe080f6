"""How a tmux process is started."""

import subprocess
import sys

import pytest

from posthouse.errors import Unavailable
from posthouse.terminal.client import (
    NoServer,
    Server,
    Tmux,
    TmuxRefused,
    client_environment,
    tmux_error,
)


@pytest.mark.parametrize(
    ("socket", "arguments"),
    [
        pytest.param(None, ("-L", "default"), id="the user's own, with the user's configuration"),
        pytest.param("ours", ("-L", "ours", "-f", "/dev/null"), id="a name"),
        pytest.param("/run/x", ("-S", "/run/x", "-f", "/dev/null"), id="a path"),
    ],
)
def test_a_server_is_always_named(socket: str | None, arguments: tuple[str, ...]) -> None:
    """So that a caller inside another server reaches the one it means."""
    assert Server(socket).arguments() == arguments


def test_a_tmux_process_inherits_only_what_is_harmless() -> None:
    """Neither secrets nor the server that the caller sits in."""
    environment = {
        "HOME": "/h",
        "LC_ALL": "C",
        "XDG_RUNTIME_DIR": "/r",
        "TMUX": "/t,1,0",
        "API_KEY": "secret",
    }

    assert client_environment(environment) == {"HOME": "/h", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/r"}


def test_without_tmux_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message holds the command."""
    monkeypatch.setenv("PATH", "/nonexistent")

    with pytest.raises(Unavailable, match="sudo apt-get install -y tmux"):
        Tmux().run("list-sessions")


@pytest.mark.parametrize(
    ("words", "family"),
    [
        ("no server running on /tmp/tmux-0/x", NoServer),
        ("error connecting to /tmp/tmux-0/x (No such file or directory)", NoServer),
        ("server exited unexpectedly", NoServer),
        ("lost server", NoServer),
        ("no current target", NoServer),
        ("can't find session: x", TmuxRefused),
        ("unknown option: x", TmuxRefused),
    ],
)
def test_tmuxs_words_are_told_apart(words: str, family: type[Exception]) -> None:
    """A server that is not there is another error than one that says no."""
    assert type(tmux_error(Server("x"), "run", words)) is family


def test_the_command_line_does_not_pay_for_what_only_gateways_need() -> None:
    """Launching and listing load neither asyncio nor other slow modules."""
    look = (
        "import sys, posthouse.terminal.session; print(sys.modules.keys() & {'asyncio', 'shutil', 'logging'})"
    )

    assert subprocess.check_output([sys.executable, "-c", look], text=True) == "set()\n"
