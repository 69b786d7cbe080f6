"""A config home in which nothing waits for a person."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from posthouse.errors import Conflict, InvalidInput
from posthouse.tools.codex import home
from posthouse.tools.tool import LoginMode, Setup

FORCED = {
    "check_for_update_on_startup": False,
    "analytics": {"enabled": False},
    "tui": {
        "terminal_title": ["activity", "project"],
        "status_line": ["model-with-reasoning", "current-dir"],
        "animations": True,
        "show_tooltips": False,
    },
}


def _setup(place: Path, kind: LoginMode = "none", *, spool: Path | None = None, **variables: str) -> Setup:
    return Setup(
        home=place / "home",
        working_directory=place / "proj",
        user_home=place,
        login=kind,
        spool=spool,
        variables=variables,
    )


def _config(place: Path) -> dict[str, Any]:
    return tomllib.loads((place / "home" / "config.toml").read_text())


def _trusted(place: Path) -> dict[str, Any]:
    return {str(place / "proj"): {"trust_level": "trusted"}}


def test_titles_are_on_the_folder_is_trusted_and_nothing_is_asked_at_the_start(place: Path) -> None:
    """Without a key there is no model provider of ours, without a spool no hooks."""
    assert home.prepare(_setup(place)) == {}

    assert _config(place) == {**FORCED, "projects": _trusted(place)}
    assert not (place / "home" / "hooks.json").exists()


def test_a_key_comes_from_its_variable_and_its_value_is_nowhere(place: Path) -> None:
    """The built-in provider would open a sign-in in the TUI."""
    key = home.prepare(_setup(place, "env", OPENAI_API_KEY="sk-secret"))

    assert key == {"OPENAI_API_KEY": "sk-secret"}
    assert (_config(place)["model_provider"], _config(place)["model_providers"]) == (
        "posthouse",
        {
            "posthouse": {
                "name": "OpenAI API",
                "base_url": "https://api.openai.com/v1",
                "wire_api": "responses",
                "env_key": "OPENAI_API_KEY",
            }
        },
    )
    written = b"".join(path.read_bytes() for path in (place / "home").iterdir())
    assert b"sk-secret" not in written


def test_an_address_in_the_variables_is_where_the_api_is(place: Path) -> None:
    """Also without a key: a model of one's own asks for none."""
    home.prepare(_setup(place, OPENAI_BASE_URL="http://127.0.0.1:1/v1"))

    assert _config(place)["model_providers"]["posthouse"] == {
        "name": "OpenAI API",
        "base_url": "http://127.0.0.1:1/v1",
        "wire_api": "responses",
    }


def test_the_key_of_a_persons_login_goes_to_its_maker_only(place: Path) -> None:
    """An address that is set for other programs does not get it."""
    (place / ".codex").mkdir()
    (place / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "sk-filed"}')

    key = home.prepare(_setup(place, "inherit", OPENAI_BASE_URL="http://elsewhere/v1"))
    provider = _config(place)["model_providers"]["posthouse"]
    assert (key, provider["base_url"]) == ({"OPENAI_API_KEY": "sk-filed"}, "https://api.openai.com/v1")


def test_hooks_are_written_with_their_trust(place: Path) -> None:
    """By the path that codex finds them under, which has no links in it."""
    (place / "real").mkdir()
    (place / "home").symlink_to(place / "real")
    home.prepare(_setup(place, spool=place / "spool"))

    assert set(_config(place)["hooks"]["state"]) == {
        f"{place}/real/hooks.json:{event}:0:0"
        for event in ("user_prompt_submit", "stop", "permission_request")
    }
    assert (place / "real" / "hooks.json").exists()


def test_a_second_call_changes_nothing(place: Path) -> None:
    """Not even the files' times."""
    setup = _setup(place, "env", spool=place / "spool", OPENAI_API_KEY="k")
    home.prepare(setup)
    before = _written(place / "home")

    home.prepare(setup)
    assert _written(place / "home") == before


def _written(folder: Path) -> dict[Path, tuple[int, int, int]]:
    """What tells that a file was written again. Not when it was read, which reading changes."""
    facts = {path: path.stat() for path in folder.glob("[!.]*")}
    return {path: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in facts.items()}


def test_what_stands_in_a_home_is_kept(place: Path) -> None:
    """Its model provider, its trust and its login are its own."""
    (place / "home").mkdir()
    (place / "home" / "config.toml").write_text(
        'model_provider = "mine"\n[tui]\ntheme = "dark"\nanimations = false\n'
        '[model_providers.mine]\nenv_key = "MY_KEY"\n[projects."/x"]\ntrust_level = "untrusted"\n'
    )

    assert home.prepare(_setup(place, "env", MY_KEY="k", OPENAI_API_KEY="other")) == {"MY_KEY": "k"}
    assert _config(place) == {
        **FORCED,
        "tui": {**FORCED["tui"], "theme": "dark"},  # type: ignore[dict-item] # the table of the titles
        "model_provider": "mine",
        "model_providers": {"mine": {"env_key": "MY_KEY"}},
        "projects": {"/x": {"trust_level": "untrusted"}, **_trusted(place)},
    }


@pytest.mark.parametrize("ask", [home.check, home.prepare])
def test_a_home_where_the_sandbox_breaks_is_refused(ask: Any, place: Path) -> None:
    """By name or by way of a link; nothing is written."""
    (place / "home").symlink_to("/tmp/posthouse-no-such-home")

    with pytest.raises(
        InvalidInput, match=r"under /tmp, where its sandbox breaks.*HOUMAO_GLOBAL_RUNTIME_DIR"
    ):
        ask(_setup(place))
    assert not Path("/tmp/posthouse-no-such-home").exists()


@pytest.mark.parametrize("ask", [home.check, home.prepare])
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.toml", b"= 1", "config.toml is not valid TOML"),
        ("config.toml", b"\xff", "config.toml is not valid TOML"),
        ("hooks.json", b"{", "hooks.json is not valid JSON"),
        ("hooks.json", b"[]", "hooks.json is not a JSON object"),
        ("config.toml", b"#" * (1 << 20) + b"#", "exceeds"),
        ("config.toml", b"a = " + b"[" * 100_000, "config.toml is nested too deeply"),
    ],
)
def test_a_broken_file_is_named_and_left_alone(
    ask: Any, name: str, content: bytes, words: str, place: Path
) -> None:
    """The message says what to do."""
    (place / "home").mkdir()
    path = place / "home" / name
    path.write_bytes(content)

    with pytest.raises(Conflict, match=f"{words}.*: repair or remove it"):
        ask(_setup(place))
    assert path.read_bytes() == content


def test_a_check_finds_a_missing_login_and_writes_nothing(place: Path) -> None:
    """Before anything of the launch exists."""
    with pytest.raises(InvalidInput, match="needs an API key"):
        home.check(_setup(place, "env"))
    home.check(_setup(place, "env", OPENAI_API_KEY="k"))

    assert list(place.iterdir()) == []
