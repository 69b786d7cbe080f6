"""From words to a command."""

from pathlib import Path

import pytest

from posthouse.cli import dispatch
from posthouse.cli.dispatch import Located
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Selection
from posthouse.cli.wiring import Wiring


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    return Wiring({"HOME": str(tmp_path)}, tmp_path)


@pytest.mark.parametrize(
    ("words", "located"),
    [
        pytest.param([], Located((), None, []), id="nothing"),
        pytest.param(["agents", "list", "-x"], Located(("agents", "list"), None, ["-x"]), id="a leaf"),
        pytest.param(
            ["agents", "single", "--agent-name", "gpu", "turn", "status", "t1"],
            Located(("agents", "single", "turn", "status"), Selection("name", "gpu"), ["t1"]),
            id="a selector at group level",
        ),
        pytest.param(
            ["agents", "single", "state", "--agent-id", "ab"],
            Located(("agents", "single", "state"), Selection("id", "ab"), []),
            id="a selector behind the verb",
        ),
        pytest.param(
            ["agents", "lsit"], Located(("agents",), None, ["lsit"]), id="a word that leads nowhere"
        ),
    ],
)
def test_words_lead_down_the_tree(words: list[str], located: Located) -> None:
    """The longest known path is taken; the rest are arguments."""
    assert dispatch.locate(words) == located


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["agents", "lsit", "--state", "all"],
            "p agents has no command 'lsit'; did you mean `p agents list --state all`?",
            id="a near word is suggested with what followed",
        ),
        pytest.param(["xyzzy"], "p has no command 'xyzzy'; `p --help` lists the commands", id="nothing near"),
        pytest.param(
            ["agents", "-q"], "p agents has no option -q; `p agents --help` lists the options", id="option"
        ),
        pytest.param(
            ["agents", "single", "stop"],
            "agents single needs exactly one of --agent-name NAME and --agent-id ID: "
            "p agents single --agent-name NAME stop",
            id="single without a selector",
        ),
        pytest.param(["agents", "self", "stop"], None, id="self has no stop"),
        pytest.param(["agents", "self", "state", "--agent-id", "x"], None, id="self takes no selector"),
    ],
)
def test_what_is_not_a_command_is_a_usage_error(
    words: list[str], message: str | None, wiring: Wiring
) -> None:
    """A mistyped command says what was meant."""
    with pytest.raises(UsageError) as caught:
        dispatch.run("p", words, wiring)

    assert message is None or str(caught.value) == message


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["agents"], ["agents", "single", "-h"], ["agents", "prompt", "-h"]]
)
def test_help_is_there_at_every_level(
    words: list[str], wiring: Wiring, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bare group, and --help anywhere, explain instead of failing."""
    assert dispatch.run("p", words, wiring) == 0
    assert capsys.readouterr().out.startswith("usage: p ")


def test_dashes_behind_the_separator_are_no_call_for_help(wiring: Wiring) -> None:
    """A prompt that mentions --help is a prompt."""
    with pytest.raises(Exception, match="gpu"):
        dispatch.run("p", ["agents", "prompt", "gpu", "--", "--help"], wiring)
