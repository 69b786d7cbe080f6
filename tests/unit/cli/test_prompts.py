"""What is asked: the prompt and where it comes from."""

import io
from pathlib import Path

import pytest

from posthouse.cli import prompts, tree
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, Selection
from posthouse.cli.output import Output
from posthouse.cli.prompts import PromptRequest
from posthouse.cli.wiring import Wiring


def _call(*words: str) -> Call:
    parser = Parser(prog="p", allow_abbrev=False)
    prompts.prompt_arguments(parser)
    return Call(
        prog="p",
        command=tree.COMMANDS["agents", "prompt"],
        arguments=parser.parse(words),
        output=Output("plain"),
        wiring=Wiring({}, Path("/")),
        selection=Selection("self"),
    )


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What the command finds on its stdin."""
    content = io.BytesIO(b"from stdin\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content, encoding="utf-8"))
    return content


@pytest.mark.parametrize(
    ("words", "question"),
    [
        pytest.param(["say", "hi"], PromptRequest(prompt="say hi"), id="words"),
        pytest.param(["--prompt", "say hi"], PromptRequest(prompt="say hi"), id="an option"),
        pytest.param([], PromptRequest(prompt="from stdin\n"), id="stdin when nothing is given"),
        pytest.param(
            ["x", "--model", "m", "--reasoning-level", "0"],
            PromptRequest(prompt="x", model="m", reasoning_level=0),
            id="overrides",
        ),
    ],
)
def test_a_prompt_comes_from_one_place(words: list[str], question: PromptRequest, stdin: io.BytesIO) -> None:
    """Words, --prompt, or stdin: whichever is convenient."""
    assert prompts.read_request(_call(*words)) == question


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["a", "--prompt", "b"], id="twice"),
        pytest.param(["--prompt", " "], id="blank"),
        pytest.param([""], id="an empty word"),
        pytest.param(["x", "--reasoning-level", "-1"], id="a negative level"),
    ],
)
def test_no_prompt_or_two_are_usage_errors(words: list[str], stdin: io.BytesIO) -> None:
    """Nothing is ever sent that the person did not mean."""
    with pytest.raises(UsageError):
        prompts.read_request(_call(*words))


def test_what_is_not_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A binary file on stdin is a mistake, said in one line."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8"))

    with pytest.raises(UsageError, match="not UTF-8"):
        prompts.read_request(_call())


def test_a_closed_stdin_holds_no_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service without a stdin is told that the prompt is missing."""
    monkeypatch.setattr("sys.stdin", None)

    with pytest.raises(UsageError, match="there is no prompt"):
        prompts.read_request(_call())
