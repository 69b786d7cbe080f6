"""Command lines, one row per rule."""

from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.claude import arguments
from posthouse.tools.tool import Chat, HeadlessTurn, Launch, Permissions

ID = "0d3f7a52-8c51-4c1e-9d0e-0d7a7b1f2c3d"


def _launch(
    *,
    role_text: str = "",
    model: str | None = None,
    level: int | None = None,
    args: tuple[str, ...] = (),
    permissions: Permissions = "ask",
) -> Launch:
    return Launch(
        home=Path("/home"),
        working_directory=Path("/proj"),
        role_name="r",
        role_text=role_text,
        model=model,
        reasoning_level=level,
        args=args,
        permissions=permissions,
    )


@pytest.mark.parametrize(
    ("launch", "chat", "words"),
    [
        pytest.param(_launch(), Chat(), "--permission-mode default", id="plain"),
        pytest.param(
            _launch(permissions="edits"), Chat(), "--permission-mode acceptEdits", id="edits are allowed"
        ),
        pytest.param(
            _launch(permissions="all"),
            Chat(mode="latest"),
            "--permission-mode bypassPermissions --continue",
            id="everything is allowed, in the latest conversation",
        ),
        pytest.param(
            _launch(args=("--permission-mode=plan",), permissions="all"),
            Chat(),
            "--permission-mode=plan",
            id="the user's own mode stands",
        ),
        pytest.param(
            _launch(args=("--dangerously-skip-permissions", "-x")),
            Chat(),
            "--dangerously-skip-permissions -x",
            id="also in its older words",
        ),
        pytest.param(
            _launch(model="opus", level=2, role_text="Be-kind."),
            Chat(mode="exact", id=ID),
            "--model opus --effort medium --permission-mode default"
            f" --append-system-prompt Be-kind. --resume {ID}",
            id="a conversation that goes on is told everything again",
        ),
        pytest.param(
            _launch(),
            Chat(mode="new", id=ID),
            f"--permission-mode default --session-id {ID}",
            id="a chosen id",
        ),
    ],
)
def test_the_tui(launch: Launch, chat: Chat, words: str) -> None:
    """The user's own arguments come first."""
    assert arguments.tui("claude", launch, chat) == ("claude", *words.split(" "))


@pytest.mark.parametrize(
    ("order", "words"),
    [
        pytest.param(
            HeadlessTurn(prompt="secret"),
            "--x --model sonnet --effort high --permission-mode default"
            " -p --verbose --output-format stream-json",
            id="as launched",
        ),
        pytest.param(
            HeadlessTurn(
                prompt="secret", model="claude-opus-4-6", reasoning_level=4, chat=Chat(mode="latest")
            ),
            "--x --model claude-opus-4-6 --effort max --permission-mode default"
            " -p --verbose --continue --output-format stream-json",
            id="with its own model and level",
        ),
    ],
)
def test_a_turn(order: HeadlessTurn, words: str) -> None:
    """Its overrides win, and its prompt is not among the words."""
    launch = _launch(args=("--x",), model="sonnet", level=3)

    assert arguments.turn("claude", launch, order) == ("claude", *words.split(" "))


@pytest.mark.parametrize(
    ("model", "level", "effort"),
    [
        (None, 1, "low"),
        ("opus", 2, "medium"),
        ("sonnet", 3, "high"),
        ("sonnet", 4, "high"),
        ("claude-opus-4-6[1m]", 3, "high"),
        ("claude-opus-4-6[1m]", 99, "max"),
    ],
)
def test_the_ladder_saturates(model: str | None, level: int, effort: str) -> None:
    """One model has a rung more."""
    assert arguments.effort(model, level) == effort


@pytest.mark.parametrize("level", [0, -1])
def test_reasoning_cannot_be_turned_off(level: int) -> None:
    """The message names the ladder."""
    with pytest.raises(InvalidInput, match=r"take 1 \(low\) to 3 \(high\)"):
        arguments.effort(None, level)


def test_a_conversations_id_is_never_an_option() -> None:
    """The CLI would parse it as an option, because the value of `--resume` is optional."""
    order = HeadlessTurn(prompt="p", chat=Chat(mode="exact", id="--dangerously-skip-permissions"))

    with pytest.raises(InvalidInput, match=r"invalid conversation id .* must not begin"):
        arguments.turn("claude", _launch(), order)
