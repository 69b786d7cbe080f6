"""All agents in a table that fits."""

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from posthouse.cli import overview
from posthouse.cli.output import Output
from posthouse.cli.overview import AgentLine

NOW = datetime(2026, 6, 5, tzinfo=UTC)
GPU = AgentLine(
    agent_id="a1",
    name="gpu",
    tool="claude",
    kind="tui",
    state="blocked: permission",
    since=NOW - timedelta(minutes=3),
    queue=2,
    last="success",
)
CI = AgentLine(agent_id="a2", name="ci", tool="codex", kind="headless", state="ready")


def drawn(*lines: AgentLine, columns: int = 100, rows: int = 24) -> list[str]:
    output = Output("plain", stream=io.StringIO())
    return overview.screen(lines, "here; Ctrl-C ends", output, now=NOW, columns=columns, rows=rows)


def test_each_agent_has_a_line() -> None:
    """With what it does, since when, what waits, and how it last ended."""
    assert drawn(CI, GPU) == [
        "NAME  TOOL    KIND      STATE                SINCE      QUEUE  LAST",
        "ci    codex   headless  ready                -          -      -",
        "gpu   claude  tui       blocked: permission  3 min ago  2      success",
        "",
        "here; Ctrl-C ends",
    ]


@pytest.mark.parametrize(
    ("columns", "heading"),
    [
        (66, "NAME  TOOL    STATE                SINCE      QUEUE  LAST"),
        (54, "NAME  STATE                SINCE      QUEUE  LAST"),
        (42, "NAME  STATE                QUEUE  LAST"),
        (30, "NAME  STATE"),
    ],
)
def test_a_narrow_terminal_gets_what_matters_most(columns: int, heading: str) -> None:
    """Columns go one by one; name and state stay."""
    shown = drawn(CI, GPU, columns=columns)

    assert shown[0] == heading
    assert all(len(line) <= columns for line in shown)


def test_the_narrowest_terminal_cuts_words() -> None:
    """What does not fit ends in an ellipsis."""
    assert drawn(replace(GPU, name="a-very-long-name"), columns=18)[1] == "a-very-…  blocked…"


def test_more_agents_than_rows_are_counted() -> None:
    """Nothing scrolls."""
    shown = drawn(*(replace(CI, agent_id=str(n), name=f"a{n}") for n in range(9)), rows=8)

    assert len(shown) <= 8
    assert "… and 5 more" in shown


def test_nobody_is_said() -> None:
    """An empty registry is no error."""
    assert drawn() == ["no agents run", "", "here; Ctrl-C ends"]


def test_a_line_for_pipes() -> None:
    """One short sentence, and all of it for programs."""
    assert GPU.text == "gpu: blocked: permission, 2 waiting (last: success)"
    assert CI.text == "ci: ready"
    assert GPU.value["since_utc"] == "2026-06-04T23:57:00+00:00"
