"""Prompts as moves."""

from dataclasses import replace

import pytest

from posthouse.tools.scripted import directives as d
from posthouse.tools.scripted.script import Action, ScriptContext, plan_actions

KNOWLEDGE = ScriptContext(
    earlier_prompts=("first", "second"),
    role="You are terse.",
    working_directory="/work",
    environment={"COLOUR": "red", "KEY": "secret"},
)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param(
            "hi  there",
            [d.Say("Hello! I am a scripted agent and got your prompt “hi there” (9 characters).")],
            id="nothing asked: a friendly word",
        ),
        pytest.param("[[say a]] [[say b]]", [d.Say("a"), d.Say("\nb")], id="each say is a line"),
        pytest.param(
            "[[stream 3 words every 2]]",
            [d.Say("w0000"), d.Wait(2.0), d.Say(" w0001"), d.Wait(2.0), d.Say(" w0002")],
            id="a stream is words and pauses",
        ),
        pytest.param("[[recall]]", [d.Say("I remember:\n1. first\n2. second")], id="recall"),
        pytest.param("[[role]]", [d.Say("You are terse.")], id="role"),
        pytest.param("[[cwd]]", [d.Say("/work")], id="cwd"),
        pytest.param("[[repeat 2]]\na\n b", [d.Say("a\n b")], id="what stands at the end, repeated"),
        pytest.param("[[env COLOUR]]", [d.Say("COLOUR=red")], id="a variable"),
        pytest.param("[[env GONE]]", [d.Say("GONE is not set")], id="a missing variable"),
        pytest.param("[[secret KEY]]", [d.Say("KEY is set, sha256 2bb80d537b1d")], id="a secret is not told"),
        pytest.param("[[fail 400]] [[say never]]", [d.Fail("400")], id="a failure ends it"),
        pytest.param(
            "[[ask Sure?]]", [d.Ask("Sure?", ("Yes", "No"))], id="a question is enough of an answer"
        ),
        pytest.param("[[wait 1]] [[say x]]", [d.Wait(1.0), d.Say("x")], id="other moves stay as they are"),
    ],
)
def test_a_prompt_is_worked_out(prompt: str, expected: list[Action]) -> None:
    """Both modes make the same moves for a prompt."""
    assert list(plan_actions(prompt, KNOWLEDGE)) == expected


def test_permission_is_not_asked_for_when_everything_is_allowed() -> None:
    """The flag that skips permissions is worked out before anybody is asked."""
    allowing = replace(KNOWLEDGE, allows_everything=True)

    assert list(plan_actions("[[permission ls]] [[say x]]", allowing)) == [d.UseTool("ls"), d.Say("x")]
