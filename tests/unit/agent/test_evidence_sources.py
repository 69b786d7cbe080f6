"""What hooks and transcript of a session say."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from posthouse.agent.evidence_sources import EvidenceSources, TurnSignals
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.tools import spool
from posthouse.tools.scripted.profile import TOOL
from posthouse.tools.scripted.transcript import Transcript
from posthouse.tracking.observation import EndedTurn

Until = Callable[[Callable[[], bool]], Awaitable[None]]
LONG_AGO = timedelta(hours=1)


def at_home(made: Session, folder: Path) -> Session:
    """The session with a home of its own, and a spool."""
    (made.root / spool.FOLDER).mkdir()
    plan = made.manifest.launch_plan
    selector = msgspec.structs.replace(plan.home_selector, home_path=str(folder / "home"))
    plan = msgspec.structs.replace(plan, home_selector=selector)
    return Session(made.root, msgspec.structs.replace(made.manifest, launch_plan=plan))


def report(session: Session, event: str) -> None:
    """Let a hook report in."""
    path = session.root / spool.FOLDER / f"{event}.x.json"
    path.with_suffix(".tmp").write_text(json.dumps({"prompt": "hi"}))
    path.with_suffix(".tmp").rename(path)


def told_by(session: Session, started_at: datetime) -> TurnSignals:
    async def story() -> TurnSignals:
        witnesses = EvidenceSources(TOOL, session, lambda: None)
        await witnesses.begin(started_at)
        witnesses.close()
        return witnesses.signals

    return asyncio.run(story())


def test_what_was_said_before_the_program_started_does_not_count(
    made_session: Session, tmp_path: Path
) -> None:
    """A program that was killed in its turn leaves a report and an open prompt behind."""
    session = at_home(made_session, tmp_path)
    report(session, "UserPromptSubmit")
    transcript = Transcript.new(tmp_path / "home", tmp_path, role="", is_kept=True)
    transcript.append("prompt", text="hi")

    now, before = told_by(session, clock.now() + LONG_AGO), told_by(session, clock.now() - LONG_AGO)

    assert (now.hook_report, now.running_since_utc) == (None, None)
    assert before.hook_report is not None
    assert (before.hook_report.meaning, before.running_since_utc is not None) == ("submitted", True)


def test_what_is_said_later_is_told_without_being_asked(
    made_session: Session, tmp_path: Path, until: Until
) -> None:
    """The kernel says that there is something new."""
    session = at_home(made_session, tmp_path)
    transcript = Transcript.new(tmp_path / "home", tmp_path, role="", is_kept=True)

    async def story() -> tuple[TurnSignals, TurnSignals]:
        changes: list[bool] = []
        witnesses = EvidenceSources(TOOL, session, lambda: changes.append(True))
        await witnesses.begin(clock.now() - LONG_AGO)
        report(session, "UserPromptSubmit")
        await until(lambda: bool(changes))
        asked = witnesses.signals
        transcript.append("prompt", text="hi")
        transcript.append("outcome", outcome="interrupted", answer="")
        await until(lambda: witnesses.signals.ended is not None)
        witnesses.close()
        return asked, witnesses.signals

    asked, ended = asyncio.run(story())

    assert asked.hook_report is not None
    assert (asked.hook_report.meaning, asked.ended) == ("submitted", None)
    assert isinstance(ended.ended, EndedTurn)
    assert (ended.ended.outcome, ended.running_since_utc) == ("interrupted", None)
