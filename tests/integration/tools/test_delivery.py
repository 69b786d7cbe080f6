"""The short form of `bench/delivery.py`: no prompt lost, none twice, no false claim."""

import os
from pathlib import Path
from typing import Any

import pytest

from posthouse.terminal.client import Server
from posthouse.terminal.delivery import Delivery, PaneWriter
from posthouse.testing import clis
from posthouse.testing.delivery import judging, rig, subjects
from posthouse.testing.delivery.judging import Attempt, Verdict
from posthouse.testing.delivery.rig import Subject
from posthouse.testing.delivery.trials import Trial, trials
from posthouse.testing.model_api import ModelApi

_COUNT = 8
#: A seed whose eight have every condition once and eight shapes; 100 KB, which takes a CLI half a minute, is
#: typed elsewhere.
_SEED = 1182


def _deliver(subject: Subject, folder: Path, server: Server) -> list[Verdict]:
    with rig.launched(subject, folder, server) as made:
        attempts = rig.run(subject, made, list(trials(_SEED, _COUNT)), lambda line: None)
        return judging.judge(attempts, subject.received(made))


@pytest.mark.parametrize("tool", list(clis.PACKAGES))
def test_every_claim_about_a_real_cli_is_true(
    tool: str,
    agent_clis: Path,
    model_api: ModelApi,
    cli_home: Path,
    tmux_server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was said to be submitted reached the model once; what was refused did not."""
    monkeypatch.setenv("PATH", clis.search_path(agent_clis, os.environ["PATH"]))

    verdicts = _deliver(subjects.real(tool, model_api, cli_home), cli_home, tmux_server)

    assert [verdict for verdict in verdicts if verdict.problem] == []
    assert not (cli_home / "project" / "ran").exists()


@pytest.mark.parametrize("persona", subjects.PERSONAS)
def test_every_claim_about_a_persona_is_true(persona: str, tmp_path: Path, tmux_server: Server) -> None:
    """The same against our own agent at its worst, whose truth log has what it took."""
    verdicts = _deliver(subjects.scripted(persona, tmp_path), tmp_path, tmux_server)

    assert [verdict for verdict in verdicts if verdict.problem] == []
    assert {verdict.attempt.trial.condition for verdict in verdicts} == {"ready", "busy", "draft", "scrolled"}


def test_an_agent_that_looked_ready_too_soon_is_made_busy_all_the_same(
    tmp_path: Path, tmux_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal of the prompt that keeps it busy is no reason to wait for that prompt's turn in vain."""
    refused = [Delivery(outcome="refused", reason="active")]
    submit = PaneWriter.submit

    async def submit_later(writer: PaneWriter, prompt: str, **options: Any) -> Delivery:
        return refused.pop() if refused else await submit(writer, prompt, **options)

    monkeypatch.setattr(PaneWriter, "submit", submit_later)
    subject = subjects.scripted("plain", tmp_path)
    trial = Trial(mark="marked", shape="short", prompt="marked", condition="busy")
    with rig.launched(subject, tmp_path, tmux_server) as made:
        attempts = rig.run(subject, made, [trial], lambda line: None)
        received = subject.received(made)

    assert [attempt.claim for attempt in attempts] == ["submitted"]
    assert [text.split()[0] for text in received] == ["take", "marked"]


@pytest.mark.parametrize(
    ("claim", "received", "problem"),
    [
        ("submitted", ["x m y"], None),
        ("submitted", [], "said to be submitted, never received"),
        ("submitted", ["m", "m"], "received 2 times"),
        ("refused", [], None),
        ("refused", ["m"], "said to be refused, received"),
        ("unknown", [], None),
        ("unknown", ["m"], None),
        ("unknown", ["m", "m"], "received 2 times"),
    ],
)
def test_a_claim_is_judged_by_what_arrived(
    claim: judging.Claim, received: list[str], problem: str | None
) -> None:
    """`unknown` is an honest answer; twice never is."""
    trial = Trial(mark="m", shape="line", prompt="m", condition="ready")

    [verdict] = judging.judge([Attempt(trial=trial, claim=claim, reason="")], received)

    assert verdict.problem == problem
