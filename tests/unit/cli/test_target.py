"""Which agent is meant, and what is said when that is not clear."""

from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest

from posthouse.cli import target, tree
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Selection
from posthouse.cli.output import Output
from posthouse.cli.wiring import Wiring
from posthouse.contracts.registry import Identity, Lifecycle, Record, Runtime, Terminal
from posthouse.errors import Conflict, NotFound

_MOMENT = "2026-03-13T10:00:00+00:00"


def _record(name: str, agent_id: str) -> Record:
    return Record(
        schema_version=3,
        agent_name=name,
        agent_id=agent_id,
        generation_id=agent_id,
        lifecycle=Lifecycle(state="stopped", relaunchable=True, state_updated_at=_MOMENT, stopped_at=_MOMENT),
        identity=Identity(backend="local_interactive", tool="scripted"),
        runtime=Runtime(manifest_path="/nowhere/manifest.json"),
        terminal=Terminal(last_session_name="s"),
    )


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    """A registry with two agents of one name and one that is called like the other's id."""
    made = Wiring({"HOME": str(tmp_path)}, tmp_path)
    for name, agent_id in (("gpu", "a1"), ("gpu", "a2"), ("writer", "b1"), ("a1", "c1")):
        made.registry.publish(_record(name, agent_id))
    return made


def _call(wiring: Wiring, path: tuple[str, ...], selection: Selection, *rest: str) -> Call:
    return Call(
        prog="p",
        command=tree.COMMANDS[path],
        arguments=Namespace(),
        output=Output("plain"),
        wiring=wiring,
        selection=selection,
        rest=rest,
    )


@pytest.mark.parametrize(
    ("selection", "agent_id"),
    [
        pytest.param(Selection("name", "writer"), "b1", id="a name"),
        pytest.param(Selection("any", "HOUMAO-writer"), "b1", id="its canonical form"),
        pytest.param(Selection("id", "a2"), "a2", id="an id"),
        pytest.param(Selection("any", "a1"), "a1", id="an id wins over a name"),
        pytest.param(Selection("name", "a1"), "c1", id="a name is never taken for an id"),
    ],
)
def test_an_agent_is_found_by_name_or_id(wiring: Wiring, selection: Selection, agent_id: str) -> None:
    """Short forms take either; selectors mean what they say."""
    assert target.find(_call(wiring, ("agents", "stop"), selection)).agent_id == agent_id


@pytest.mark.parametrize(("external_id", "agent_id"), [(None, "b1"), ("tracked", "a1")])
def test_who_a_server_means_is_found_by_its_id_here(
    wiring: Wiring, monkeypatch: pytest.MonkeyPatch, external_id: str | None, agent_id: str
) -> None:
    """Not by the id that only the server knows; and never by another machine's id."""
    who = SimpleNamespace(tracked_agent_id="a1", agent_id="b1", external_agent_id=external_id)
    monkeypatch.setattr(Call, "server", lambda _: SimpleNamespace(agent=lambda _: who))
    call = _call(wiring, ("agents", "stop"), Selection("any", "writer"))
    call.arguments.pair_port = 9891

    assert target.find(call).agent_id == agent_id


@pytest.mark.parametrize("path", [("agents", "turn", "status"), ("agents", "single", "turn", "status")])
def test_an_ambiguous_name_gives_one_command_each(wiring: Wiring, path: tuple[str, ...]) -> None:
    """The person copies a line instead of looking up ids."""
    with pytest.raises(Conflict, check=lambda error: error.code == "ambiguous_name") as caught:
        target.find(_call(wiring, path, Selection("any", "gpu"), "last", "it's"))

    assert str(caught.value).splitlines() == [
        "2 agents are called 'gpu'; choose one by its id:",
        """  p agents single --agent-id a1 turn status last 'it'"'"'s'""",
        """  p agents single --agent-id a2 turn status last 'it'"'"'s'""",
    ]


@pytest.mark.parametrize(
    ("name", "agent_id", "command"),
    [
        pytest.param("writer", "b1", "p agents relaunch writer", id="its name"),
        pytest.param("gpu", "a2", "p agents relaunch a2", id="its id, where others have the name"),
        pytest.param("a1", "c1", "p agents relaunch c1", id="its id, where the name is another's id"),
    ],
)
def test_a_command_for_later_means_exactly_one_agent(
    wiring: Wiring, name: str, agent_id: str, command: str
) -> None:
    """A hint that somebody copies never acts on another agent."""
    call = _call(wiring, ("agents", "stop"), Selection("any", name))

    assert target.command_for(call, "relaunch", name, agent_id) == command


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            "writre",
            "no agent is called 'writre'; did you mean writer? `p agents list --state all` lists all agents",
        ),
        ("xyz", "no agent is called 'xyz'; `p agents list --state all` lists all agents"),
    ],
)
def test_a_name_that_is_not_there_suggests_near_ones(wiring: Wiring, wanted: str, message: str) -> None:
    """A mistyped name costs one more line."""
    with pytest.raises(NotFound, check=lambda error: error.code == "agent_not_found") as caught:
        target.find(_call(wiring, ("agents", "stop"), Selection("any", wanted)))

    assert str(caught.value) == message


def test_without_a_name_and_outside_tmux_the_command_asks_which(wiring: Wiring) -> None:
    """Nothing is guessed from there being only a few agents."""
    with pytest.raises(UsageError, match=r"which agent\? p agents stop NAME"):
        target.find(_call(wiring, ("agents", "stop"), Selection("self")))
