"""Style flags, selectors and words behind `--`."""

from argparse import ArgumentTypeError

import pytest

from posthouse.cli import options
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, Selection


@pytest.mark.parametrize(
    ("words", "style", "rest"),
    [
        pytest.param(["agents", "list"], None, ["agents", "list"], id="none given"),
        pytest.param(["--json", "agents", "list"], "json", ["agents", "list"], id="before the command"),
        pytest.param(["agents", "list", "--print-fancy"], "fancy", ["agents", "list"], id="after it"),
        pytest.param(["--json", "x", "--print-plain"], "plain", ["x"], id="the last one wins"),
        pytest.param(["x", "--", "--json"], None, ["x", "--", "--json"], id="text behind -- is left alone"),
    ],
)
def test_the_style_flag_may_stand_anywhere(words: list[str], style: str | None, rest: list[str]) -> None:
    """Programs put --json where they like."""
    assert options.take_style(words) == (style, rest)


@pytest.mark.parametrize(
    ("words", "selection", "rest"),
    [
        pytest.param(["--agent-name", "gpu", "state"], Selection("name", "gpu"), ["state"], id="before"),
        pytest.param(["state", "--agent-id=ab12"], Selection("id", "ab12"), ["state"], id="after, with ="),
        pytest.param(["state"], None, ["state"], id="none"),
        pytest.param(["x", "--", "--agent-id", "y"], None, ["x", "--", "--agent-id", "y"], id="behind --"),
    ],
)
def test_a_selector_is_taken_from_the_words(
    words: list[str], selection: Selection | None, rest: list[str]
) -> None:
    """The agent is named once, and the verb never sees how."""
    assert options.take_selection(words) == (selection, rest)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--agent-name", "a", "--agent-id", "b"], id="both"),
        pytest.param(["--agent-name", "a", "--agent-name", "b"], id="twice"),
        pytest.param(["--agent-name"], id="no value"),
        pytest.param(["--agent-id", "--json"], id="an option as value"),
        pytest.param(["--agent-id="], id="an empty value"),
    ],
)
def test_anything_but_one_selector_is_a_usage_error(words: list[str]) -> None:
    """Exactly one selector: two could mean two agents."""
    with pytest.raises(UsageError):
        options.take_selection(words)


def _parser() -> Parser:
    parser = Parser(prog="p", allow_abbrev=False)
    parser.add_argument("name", nargs="?")
    parser.add_argument("text", nargs="*")
    parser.add_argument("--wait", action="store_true")
    return parser


@pytest.mark.parametrize(
    ("words", "parsed"),
    [
        pytest.param(["gpu", "--wait", "say", "hi"], ("gpu", ["say", "hi"], True), id="option in between"),
        pytest.param(["gpu", "--", "--wait", "-h"], ("gpu", ["--wait", "-h"], False), id="dashes behind --"),
        pytest.param(
            ["gpu", "--", "a", "--", "b"], ("gpu", ["a", "--", "b"], False), id="a second -- is text"
        ),
        pytest.param(["--wait", "gpu"], ("gpu", [], True), id="no text"),
    ],
)
def test_options_and_positionals_mix(words: list[str], parsed: tuple[str, list[str], bool]) -> None:
    """A prompt may start with dashes once it stands behind `--`."""
    arguments = _parser().parse(words)

    assert (arguments.name, arguments.text, arguments.wait) == parsed


def test_a_wrong_option_raises_with_the_usage() -> None:
    """argparse never ends the process; the edge decides about exit codes."""
    with pytest.raises(UsageError) as caught:
        _parser().parse(["gpu", "--wait-for-it"])

    assert str(caught.value) == "unrecognized arguments: --wait-for-it"
    assert caught.value.usage == "usage: p [-h] [--wait] [name] [text ...]\n"


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e300", "soon"])
def test_a_time_that_nobody_can_wait_is_refused(text: str) -> None:
    """Waiting has an end, and the end is a time the machine can count to."""
    with pytest.raises((ValueError, ArgumentTypeError)):
        options.seconds(text)


def test_a_time_is_in_seconds() -> None:
    """Fractions are fine."""
    assert options.seconds("1.5") == 1.5
