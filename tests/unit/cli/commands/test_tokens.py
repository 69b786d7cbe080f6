"""`tokens list`, `create` and `revoke`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posthouse.cli import dispatch
from posthouse.cli.wiring import Wiring
from posthouse.contracts import server_files as cf
from posthouse.errors import Conflict, NotFound

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """What a command prints when all is well."""

    def run(*words: str) -> str:
        asked = [*words, "--runtime-root", str(tmp_path / "runtime")]
        assert dispatch.run("posthouse", asked, Wiring({"HOME": str(tmp_path)}, tmp_path)) == 0
        return capsys.readouterr().out

    return run


def test_tokens_are_named_with_what_they_allow_and_never_shown(run: Run, tmp_path: Path) -> None:
    """The file holds the token; what is printed says where that is."""
    assert run("tokens", "list") == "no tokens; create one with: tokens create NAME --scope read\n"
    path = tmp_path / "runtime" / cf.SERVERS / cf.TOKENS / "prompt" / "phone"

    assert run("tokens", "create", "phone", "--scope", "prompt") == f"a token of scope prompt is in {path}\n"

    listed: dict[str, Any] = json.loads(run("tokens", "list", "--json"))
    assert listed == {"tokens": [{"name": "phone", "scope": "prompt", "path": str(path)}]}
    assert path.read_text().strip() not in run("tokens", "list")


def test_a_name_is_given_once_and_taken_away_once(run: Run) -> None:
    """Whatever the scope."""
    run("tokens", "create", "phone", "--scope", "prompt")
    with pytest.raises(Conflict, match="already exists"):
        run("tokens", "create", "phone", "--scope", "read")

    assert run("tokens", "revoke", "phone") == "token 'phone' is revoked\n"
    with pytest.raises(NotFound, match="no token 'phone'"):
        run("tokens", "revoke", "phone")
