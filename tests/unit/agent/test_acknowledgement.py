"""The agent's own word that it has a prompt."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from posthouse import tools
from posthouse.agent import acknowledgement
from posthouse.contracts import manifest as m
from posthouse.sessions.session import Session
from posthouse.tools import spool
from posthouse.tools.scripted.transcript import Transcript


@pytest.fixture
def tui(made_session: Session, tmp_path: Path) -> Session:
    """A session whose home and spool can be written by hand."""
    (made_session.root / spool.FOLDER).mkdir()
    plan = structs.replace(
        made_session.manifest.launch_plan,
        home_selector=m.HomeSelector(env_var="H", home_path=str(tmp_path / "home")),
    )
    return Session(made_session.root, structs.replace(made_session.manifest, launch_plan=plan))


def _report(session: Session, event: str, payload: dict[str, str]) -> None:
    command = spool.command(session.root / spool.FOLDER, event)
    subprocess.run(["/bin/sh", "-c", command], input=json.dumps(payload).encode(), check=True)


def test_a_hook_that_names_the_prompt_acknowledges_it(tui: Session) -> None:
    """Only a new report of this very prompt counts, whatever the CLI did to its white space and accents."""
    _report(tui, "UserPromptSubmit", {"prompt": "cafe\u0301  au lait"})
    is_taken = acknowledgement.PromptAcknowledgement(tools.load("scripted"), tui, "caf\u00e9 au\nlait").check
    assert not is_taken()

    _report(tui, "UserPromptSubmit", {"prompt": "something else"})
    _report(tui, "Stop", {"prompt": "caf\u00e9 au lait"})
    assert not is_taken()

    _report(tui, "UserPromptSubmit", {"prompt": "caf\u00e9 au lait"})
    assert is_taken()


def test_the_transcript_acknowledges_a_prompt_that_it_has_once_more(tui: Session, tmp_path: Path) -> None:
    """The same prompt from an earlier turn is no acknowledgement."""
    transcript = Transcript.new(
        tmp_path / "home", Path(tui.manifest.working_directory), role="", is_kept=True
    )
    transcript.append("prompt", text="again")
    is_taken = acknowledgement.PromptAcknowledgement(tools.load("scripted"), tui, "again").check
    assert not is_taken()

    transcript.append("prompt", text="again")
    assert is_taken()


def test_a_report_is_told_at_once(tui: Session) -> None:
    """The kernel says when a hook has written; without a folder for reports there is nothing to hear."""

    async def story() -> int:
        told = asyncio.Event()
        with acknowledgement.wake_on_hook(tui, told.set):
            _report(tui, "Stop", {})
            await asyncio.wait_for(told.wait(), 5)
        (tui.root / spool.FOLDER).rename(tui.root / "elsewhere")
        calls: list[str] = []
        with acknowledgement.wake_on_hook(tui, lambda: calls.append("told")):
            pass
        return len(calls)

    assert asyncio.run(story()) == 0


def test_old_reports_are_removed(tui: Session) -> None:
    """Hooks that went on while no gateway lived fill no disk."""
    folder = tui.root / spool.FOLDER
    for number in range(250):
        (folder / f"Stop.{number}.json").write_text("{}")

    acknowledgement.PromptAcknowledgement(tools.load("scripted"), tui, "x")

    assert len(list(folder.iterdir())) == 200
