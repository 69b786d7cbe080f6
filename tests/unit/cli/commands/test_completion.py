"""What could stand at the cursor."""

from pathlib import Path

import pytest

from posthouse import tools
from posthouse.cli import tree
from posthouse.cli.commands import completion
from posthouse.cli.context import Call
from posthouse.cli.options import Parser, Selection
from posthouse.cli.output import Output
from posthouse.cli.wiring import Wiring
from posthouse.contracts.registry import Identity, Lifecycle, Record, Runtime, Terminal


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """A call whose registry knows one stopped agent."""
    wiring = Wiring({"HOME": str(tmp_path)}, tmp_path)
    moment = "2026-03-13T10:00:00+00:00"
    wiring.registry.publish(
        Record(
            schema_version=3,
            agent_name="gpu",
            agent_id="ab12",
            generation_id="g",
            lifecycle=Lifecycle(
                state="stopped", relaunchable=True, state_updated_at=moment, stopped_at=moment
            ),
            identity=Identity(backend="local_interactive", tool="scripted"),
            runtime=Runtime(manifest_path="/nowhere/manifest.json"),
            terminal=Terminal(last_session_name="s"),
        )
    )
    return Call(
        prog="p",
        command=tree.COMMANDS[("complete",)],
        arguments=Parser(prog="p").parse([]),
        output=Output("plain"),
        wiring=wiring,
        selection=Selection("self"),
    )


@pytest.mark.parametrize(
    ("before", "first"),
    [
        pytest.param([], ["agents", "serve"], id="nothing yet"),
        pytest.param(["agents"], ["launch", "list"], id="a group"),
        pytest.param(
            ["agents", "single"], ["--agent-name", "--agent-id"], id="single wants a selector first"
        ),
        pytest.param(["agents", "single", "--agent-name", "gpu"], ["state", "prompt"], id="then a verb"),
        pytest.param(["agents", "stop"], ["gpu"], id="names where an agent is wanted"),
        pytest.param(["agents", "single", "--agent-id"], ["ab12"], id="ids where an id is wanted"),
        pytest.param(
            ["--json", "agents", "launch", "--tool"], list(tools.NAMES), id="the choices of an option"
        ),
        pytest.param(["completion"], ["bash", "zsh", "fish"], id="the choices of a positional"),
        pytest.param(["agents", "nonsense"], [], id="nothing after what is not there"),
    ],
)
def test_candidates_follow_the_words_so_far(call: Call, before: list[str], first: list[str]) -> None:
    """Commands, agents, options and their values, each where it can stand."""
    assert completion.candidates(call, before)[: len(first) or None] == first
