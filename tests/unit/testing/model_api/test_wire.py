"""Which tool a scripted command goes to."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from posthouse.testing.model_api.script import Entry, Step
from posthouse.testing.model_api.wire import Call, ToolCall, new_id, tool_call

DESCRIBED = {"command": "ls", "description": "scripted command"}


@pytest.mark.parametrize(
    ("declared", "name", "arguments"),
    [
        (["Read", "Bash"], "Bash", DESCRIBED),
        (["exec_command"], "exec_command", {"cmd": "ls"}),
        (["shell_command"], "shell_command", {"command": "ls"}),
        (["shell"], "shell", {"command": ["bash", "-lc", "ls"]}),
        (["run_shell_command"], "run_shell_command", DESCRIBED),
        ([], "Bash", DESCRIBED),
    ],
)
def test_a_command_goes_to_the_shell_tool_that_the_caller_has(
    declared: Sequence[str], name: str, arguments: Mapping[str, Any]
) -> None:
    """Each CLI calls its shell otherwise; a script need not know which one it drives."""
    assert tool_call(Step(shell="ls"), declared) == ToolCall(name, arguments)


def test_a_tool_can_be_asked_for_by_name() -> None:
    """A named tool is asked for whether the caller has it or not: refusals are to be tested too."""
    step = Step(tool="Read", arguments={"path": "a"}, shell="ls")

    assert tool_call(step, []) == ToolCall("Read", {"path": "a"})


def test_a_plain_answer_asks_for_no_tool() -> None:
    """Text alone ends the turn."""
    assert tool_call(Step(text="hi"), ["Bash"]) is None


def test_a_call_without_tools_is_a_side_call() -> None:
    """Titles and summaries are asked for without tools; only the agent itself has some."""
    history = [Entry("user", "hi")]
    calls = [
        Call(model=None, history=history, tools=tools, effort=None, is_streaming=True)
        for tools in ([], ["Bash"])
    ]

    assert [call.is_main for call in calls] == [False, True]


def test_ids_differ() -> None:
    """Clients take two messages with one id for the same."""
    assert len({new_id("msg") for _ in range(100)}) == 100
