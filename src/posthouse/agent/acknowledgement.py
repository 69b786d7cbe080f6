"""Detects that the agent acknowledged a prompt, from its transcript or a hook report."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from posthouse.sessions.session import Session
from posthouse.support.inotify import FolderWatch
from posthouse.tools import spool
from posthouse.tools.tool import Exchange, Tool

#: Hook reports kept per session; older ones are removed.
_KEPT_REPORTS = 200
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")


class Acknowledgement(Protocol):
    """Evidence from the agent that it received a prompt."""

    @property
    def is_command(self) -> bool:
        """Whether the text is a command of the CLI, which leaves no evidence."""

    @property
    def evidence(self) -> Mapping[str, Any] | None:
        """The evidence found; None before there is any."""

    def check(self) -> bool:
        """Look for evidence now; whether there is any."""


class AssumedAcknowledgement:
    """For commands, which appear in no transcript."""

    is_command = True
    evidence = None

    def check(self) -> bool:
        return True


class PromptAcknowledgement:
    """Detects a typed text's acknowledgement. Create it before typing; earlier evidence does not count."""

    is_command = False

    def __init__(self, tool: Tool, session: Session, text: str) -> None:
        manifest = session.manifest
        self._tool = tool
        self._home = Path(manifest.launch_plan.home_selector.home_path)
        self._directory = Path(manifest.working_directory)
        self._reports = session.root / spool.FOLDER
        self._expected = normalize_prompt(text)
        self._count_before = len(self._exchanges())
        self._seen_reports = _prune(self._reports)
        self.evidence: Mapping[str, Any] | None = None

    def check(self) -> bool:
        self.evidence = self.evidence or self._from_hook() or self._from_transcript()
        return self.evidence is not None

    def _from_hook(self) -> Mapping[str, Any] | None:
        for path, report in spool.read(self._reports):
            if path not in self._seen_reports and self._tool.turn_signal(report) == "submitted":
                prompt = self._tool.submitted_prompt(report)
                if prompt is None or normalize_prompt(prompt) == self._expected:
                    return {"source": "hook", "hook": report.event, "at_utc": report.at_utc}
        return None

    def _from_transcript(self) -> Mapping[str, Any] | None:
        found = self._exchanges()
        if len(found) <= self._count_before:
            return None
        return transcript_evidence(found[-1])

    def _exchanges(self) -> list[Exchange]:
        """Exchanges of the newest conversation whose prompt equals this text."""
        exchanges = self._tool.exchanges(self._home, self._directory)
        return [exchange for exchange in exchanges if normalize_prompt(exchange.prompt) == self._expected]


def transcript_evidence(exchange: Exchange) -> dict[str, Any]:
    """Evidence from the agent's transcript that it received a prompt."""
    place = {} if exchange.position is None else asdict(exchange.position)
    return {"source": "transcript", "submitted_at_utc": exchange.submitted_at_utc, **place}


@contextmanager
def wake_on_hook(session: Session, nudge: Callable[[], None]) -> Iterator[None]:
    """Call *nudge* on every hook report during the body.

    A joined session has no hooks; the caller's polling has to suffice.
    """
    try:
        watch = FolderWatch(session.root / spool.FOLDER, nudge)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        watch.close()


def _prune(folder: Path) -> frozenset[Path]:
    """Remove the oldest reports (hooks write even without a gateway) and return those present."""
    found = [path for path, _ in spool.read(folder)]
    for path in found[:-_KEPT_REPORTS]:
        path.unlink(missing_ok=True)
    return frozenset(found)


def normalize_prompt(text: str) -> str:
    """Normalise for comparison: CLIs compose characters, drop invisible ones and change white space."""
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return " ".join(visible.split())
