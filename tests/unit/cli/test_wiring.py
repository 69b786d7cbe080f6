"""What the environment asks for."""

from pathlib import Path

import pytest

from posthouse.cli.wiring import BadStyle, Wiring


def _wiring(**environment: str) -> Wiring:
    return Wiring(environment, Path("/"))


def test_the_style_comes_from_the_environment_in_any_case() -> None:
    """HOUMAO_CLI_PRINT_STYLE is plain unless it says otherwise."""
    assert _wiring().style == "plain"
    assert _wiring(HOUMAO_CLI_PRINT_STYLE="JSON").style == "json"
    assert _wiring(HOUMAO_CLI_PRINT_STYLE=" ").style == "plain"


def test_an_unknown_style_is_refused_and_told_in_plain() -> None:
    """A typo in the environment does not silently give another format."""
    wiring = _wiring(HOUMAO_CLI_PRINT_STYLE="xml")

    with pytest.raises(BadStyle, match="'xml'; it can be plain, json, fancy"):
        assert wiring.style
    assert wiring.style_of(["agents", "list"]) == "plain"
    assert wiring.style_of(["agents", "list", "--json"]) == "json"


def test_the_current_tmux_is_its_socket() -> None:
    """TMUX holds socket, pid and session; only the socket matters."""
    assert _wiring(TMUX="/tmp/tmux-0/default,12,3").current_tmux == "/tmp/tmux-0/default"
    assert _wiring().current_tmux is None
