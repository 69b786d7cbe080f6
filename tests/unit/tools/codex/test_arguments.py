"""Codex's command lines."""

from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.tools.codex import arguments
from posthouse.tools.tool import Chat, HeadlessTurn, Launch, Permissions

ID = "01a1dd97-ee7d-72f1-99fe-ad28ad8c6dc0"
SANDBOXED = ('--config=sandbox_mode="read-only"', '--config=approval_policy="on-request"')


def _launch(
    *,
    args: tuple[str, ...] = (),
    role: str = "",
    model: str | None = None,
    level: int | None = None,
    permissions: Permissions = "ask",
) -> Launch:
    return Launch(
        home=Path("/h"),
        working_directory=Path("/w"),
        role_name="r",
        role_text=role,
        model=model,
        reasoning_level=level,
        args=args,
        permissions=permissions,
    )


@pytest.mark.parametrize(
    ("chat", "resumed"),
    [
        (Chat(), ()),
        (Chat(mode="latest"), ("resume", "--last")),
        (Chat(mode="exact", id=ID), ("resume", ID)),
    ],
)
def test_a_turn_reads_its_prompt_from_stdin(chat: Chat, resumed: tuple[str, ...]) -> None:
    """Whichever conversation it continues; the prompt is never in the process list."""
    argv = arguments.turn("/bin/codex", _launch(), HeadlessTurn(prompt="hi", chat=chat))

    expected = ("/bin/codex", *SANDBOXED, "exec", "--json", "--skip-git-repo-check", *resumed, "-")
    assert argv == expected


def test_the_users_arguments_stand_between_what_we_prefer_and_what_was_asked() -> None:
    """The last setting counts, and everything stands in front of the subcommand."""
    launch = _launch(args=("--search", "-c", "x=1"), role='Be "kind".\nNow', model="m", level=2)

    argv = arguments.turn("codex", launch, HeadlessTurn(prompt="hi", model="other"))
    assert argv == (
        "codex",
        *SANDBOXED,
        *("--search", "-c", "x=1"),
        r'--config=developer_instructions="Be \"kind\".\nNow"',
        '--config=model="other"',
        '--config=model_reasoning_effort="medium"',
        *("exec", "--json", "--skip-git-repo-check", "-"),
    )


def test_the_tui_has_no_server_behind_it() -> None:
    """Also when the user says so, which codex takes only once."""
    assert arguments.tui("codex", _launch(), Chat(mode="exact", id=ID)) == (
        *("codex", "--no-daemon"),
        *SANDBOXED,
        *("resume", ID),
    )
    assert arguments.tui("codex", _launch(args=("--no-daemon",)), Chat()).count("--no-daemon") == 1


@pytest.mark.parametrize(
    ("permissions", "sandbox", "approval"),
    [
        ("ask", "read-only", "on-request"),
        ("edits", "workspace-write", "on-request"),
        ("all", "danger-full-access", "never"),
    ],
)
def test_permissions_are_a_sandbox_and_whether_to_ask(
    permissions: Permissions, sandbox: str, approval: str
) -> None:
    """In codex's own words."""
    argv = arguments.tui("codex", _launch(permissions=permissions), Chat())

    assert argv[2:] == (f'--config=sandbox_mode="{sandbox}"', f'--config=approval_policy="{approval}"')


@pytest.mark.parametrize(
    ("level", "effort"), [(1, "low"), (2, "medium"), (3, "high"), (4, "xhigh"), (9, "xhigh")]
)
def test_a_reasoning_level_is_a_step_of_the_ladder(level: int, effort: str) -> None:
    """Above its end, its end."""
    argv = arguments.turn("codex", _launch(), HeadlessTurn(prompt="hi", reasoning_level=level))

    assert f'--config=model_reasoning_effort="{effort}"' in argv


def test_a_turns_own_reasoning_level_wins_and_none_is_an_error() -> None:
    """Codex cannot be told not to reason."""
    with pytest.raises(InvalidInput, match=r"level 0: take 1 \(low\) to 4 \(xhigh\)"):
        arguments.turn("codex", _launch(level=3), HeadlessTurn(prompt="hi", reasoning_level=0))


@pytest.mark.parametrize("chat_id", [None, "", "my-thread", f"{ID}\n", f"x{ID}"])
def test_a_conversation_that_cannot_be_is_refused(chat_id: str | None) -> None:
    """Codex would silently start a new one."""
    with pytest.raises(InvalidInput, match="its ids are UUIDs"):
        arguments.turn("codex", _launch(), HeadlessTurn(prompt="hi", chat=Chat(mode="exact", id=chat_id)))
