"""What the environment asks for."""

from pathlib import Path

import pytest

from posthouse.cli.wiring import Wiring
from posthouse.errors import InvalidInput


def _wiring(**environment: str) -> Wiring:
    return Wiring(environment, Path("/"))


def test_the_style_comes_from_the_environment_in_any_case() -> None:
    """HOUMAO_CLI_PRINT_STYLE is plain by default."""
    assert _wiring().style == "plain"
    assert _wiring(HOUMAO_CLI_PRINT_STYLE="JSON").style == "json"
    assert _wiring(HOUMAO_CLI_PRINT_STYLE=" ").style == "plain"


def test_an_unknown_style_is_refused_and_told_in_plain() -> None:
    """A typo in the environment does not silently give another format."""
    wiring = _wiring(HOUMAO_CLI_PRINT_STYLE="xml")

    with pytest.raises(InvalidInput, match="'xml': use plain, json, fancy") as refused:
        assert wiring.style
    assert refused.value.code == "bad_style"
    assert wiring.style_of(["agents", "list"]) == "plain"
    assert wiring.style_of(["agents", "list", "--json"]) == "json"


def test_the_current_tmux_is_its_socket() -> None:
    """TMUX holds socket, pid and session; only the socket matters."""
    assert _wiring(TMUX="/tmp/tmux-0/default,12,3").current_tmux == "/tmp/tmux-0/default"
    assert _wiring().current_tmux is None


def test_the_server_s_port_comes_from_the_environment() -> None:
    """The contract's variable, else the contract's port; what can't be a port is refused."""
    assert _wiring().server_port == 9891
    assert _wiring(HOUMAO_PASSIVE_SERVER_PORT=" 8080 ").server_port == 8080
    for text in ("x", "-1", "65536", "²"):
        with pytest.raises(InvalidInput, match="must be 0 to 65535"):
            assert _wiring(HOUMAO_PASSIVE_SERVER_PORT=text).server_port
