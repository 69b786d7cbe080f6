"""The scripted agent as its drivers see it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from posthouse import __version__, tools
from posthouse.terminal.screen import Screen
from posthouse.tools.scripted import program
from posthouse.tools.scripted.profile import TOOL
from posthouse.tools.scripted.transcript import Transcript
from posthouse.tools.settings import BadSettings
from posthouse.tools.tool import Chat, Exchange, HeadlessTurn, Launch, Setup

START = (sys.executable, "-I", "-S", str(Path(program.__file__)))


def _launch(home: Path) -> Launch:
    return Launch(
        home=home,
        working_directory=Path("/work"),
        role_name="reviewer",
        role_text="Be terse.",
        model="small",
        reasoning_level=2,
        args=("--persona", "codex"),
    )


def test_the_tool_and_its_decoder_are_found_by_name() -> None:
    """Whoever drives it asks for `scripted`."""
    assert tools.load("scripted") is TOOL
    assert tools.load_decoder("scripted").PROVIDER == "claude"
    assert (TOOL.executable(), TOOL.version()) == (sys.executable, __version__)


def test_a_turn_is_claudes_command_line_with_the_prompt_on_stdin(tmp_path: Path) -> None:
    """No prompt stands in a process list; the user's own arguments come first."""
    made = TOOL.turn_program(_launch(tmp_path), HeadlessTurn(prompt="secret plan"))

    assert made.argv == (
        *START,
        *("--persona", "codex", "--model", "small", "--effort", "medium", "-p", "--verbose"),
        *("--append-system-prompt", "Be terse.", "--output-format", "stream-json"),
    )
    assert made.environment == {"POSTHOUSE_SCRIPTED_HOME": str(tmp_path)}
    assert made.stdin == "secret plan"


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        (Chat(mode="exact", id="abc"), ("--resume", "abc")),
        (Chat(mode="latest"), ("--continue",)),
        (Chat(), ("--append-system-prompt", "Be terse.")),
    ],
)
def test_only_a_new_conversation_is_given_its_role(
    tmp_path: Path, chat: Chat, expected: tuple[str, ...]
) -> None:
    """A continued conversation is named and remembers the rest."""
    made = TOOL.tui_program(_launch(tmp_path), chat)

    assert made.argv == (*START, "--persona", "codex", "--model", "small", "--effort", "medium", *expected)


def test_a_turns_own_model_and_effort_win(tmp_path: Path) -> None:
    """Overrides hold for one turn; a level beyond the ladder is its top."""
    made = TOOL.turn_program(_launch(tmp_path), HeadlessTurn(prompt="x", model="big", reasoning_level=99))

    assert made.argv[len(START) + 2 : len(START) + 6] == ("--model", "big", "--effort", "max")


def test_preparing_a_home_twice_changes_nothing(tmp_path: Path) -> None:
    """Settings are completed once, and what a person added stays."""
    home, where = tmp_path / "home", tmp_path / "proj"
    TOOL.prepare_home(Setup(home=home, working_directory=where, user_home=home))
    settings = home / "settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"hooks": {"Stop": "true"}}))
    before = settings.read_bytes()

    TOOL.prepare_home(Setup(home=home, working_directory=where, user_home=home))
    assert settings.read_bytes() == before
    TOOL.prepare_home(Setup(home=home, working_directory=tmp_path / "other", user_home=home))
    assert json.loads(settings.read_text()) == {
        "hooks": {"Stop": "true"},
        "trusted": [str(where), str(tmp_path / "other")],
    }


def test_settings_that_cannot_be_read_are_left_alone(tmp_path: Path) -> None:
    """A broken file is shown to its owner, not replaced."""
    (tmp_path / "settings.json").write_text("[")

    with pytest.raises(BadSettings, match="repair or remove it"):
        TOOL.prepare_home(Setup(home=tmp_path, working_directory=tmp_path, user_home=tmp_path))
    assert (tmp_path / "settings.json").read_text() == "["


def test_exchanges_tell_what_became_of_each_prompt(tmp_path: Path) -> None:
    """A withdrawn prompt is gone, and one outcome closes every prompt that had joined the turn."""
    transcript = Transcript.new(tmp_path, tmp_path, role="", is_kept=True)
    transcript.append("prompt", text="one")
    transcript.append("prompt", text="steer")
    transcript.append("outcome", outcome="success", answer="done", usage={"output_tokens": 1})
    transcript.append("prompt", text="oops")
    transcript.append("withdrawn")
    transcript.append("prompt", text="two")
    times = [record["at"] for record in transcript.records() if record["type"] == "prompt"]

    told = TOOL.exchanges(tmp_path, tmp_path)
    assert [replace(each, position=None) for each in told] == [
        Exchange(
            prompt="one",
            submitted_at_utc=times[0],
            answer="done",
            outcome="success",
            usage={"output_tokens": 1},
        ),
        Exchange(prompt="steer", submitted_at_utc=times[1], answer="done", outcome="success"),
        Exchange(prompt="two", submitted_at_utc=times[3]),
    ]
    content = transcript.path.read_bytes()
    standing = [each.position.offset for each in told if each.position is not None]
    assert [json.loads(content[offset:].splitlines()[0])["text"] for offset in standing] == [
        "one",
        "steer",
        "two",
    ]


def test_without_a_conversation_there_are_no_exchanges(tmp_path: Path) -> None:
    """A fresh home is not an error."""
    assert list(TOOL.exchanges(tmp_path, tmp_path)) == []


def test_the_surface_is_read_through_the_tool() -> None:
    """A dead pane is an exited agent."""
    assert TOOL.read_surface(Screen(rows=(), title="", cursor=(0, 0), dead=True)).state == "exited"
