"""Whether the agent itself says that it has a prompt: its transcript, or a hook that reported in."""

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

#: Reports that nobody will ask for any more.
_KEPT_REPORTS = 200
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")


class Proof(Protocol):
    """The agent's own word that it has a prompt."""

    @property
    def is_command(self) -> bool:
        """Whether it was no prompt, but a command of the CLI, of which nothing tells."""

    @property
    def evidence(self) -> Mapping[str, Any] | None:
        """What was seen; None while nothing was."""

    def is_there(self) -> bool:
        """Look now."""


class Assumed:
    """For commands: no transcript tells of them."""

    is_command = True
    evidence = None

    def is_there(self) -> bool:
        return True


class Told:
    """Whether a text that is about to be typed has been taken since this was made."""

    is_command = False

    def __init__(self, tool: Tool, session: Session, text: str) -> None:
        manifest = session.manifest
        self._tool = tool
        self._home = Path(manifest.launch_plan.home_selector.home_path)
        self._directory = Path(manifest.working_directory)
        self._reports = session.root / spool.FOLDER
        self._wanted = essence(text)
        self._before = len(self._exchanges())
        self._already = _prune(self._reports)
        self.evidence: Mapping[str, Any] | None = None

    def is_there(self) -> bool:
        self.evidence = self.evidence or self._reported() or self._written()
        return self.evidence is not None

    def _reported(self) -> Mapping[str, Any] | None:
        for path, report in spool.read(self._reports):
            if path not in self._already and self._tool.meaning(report) == "submitted":
                prompt = self._tool.submitted_prompt(report)
                if prompt is None or essence(prompt) == self._wanted:
                    return {"source": "hook", "hook": report.event, "at_utc": report.at_utc}
        return None

    def _written(self) -> Mapping[str, Any] | None:
        found = self._exchanges()
        if len(found) <= self._before:
            return None
        return transcript_evidence(found[-1])

    def _exchanges(self) -> list[Exchange]:
        """Every exchange of the newest conversation that began with this very text."""
        told = self._tool.exchanges(self._home, self._directory)
        return [exchange for exchange in told if essence(exchange.prompt) == self._wanted]


def transcript_evidence(exchange: Exchange) -> dict[str, Any]:
    """What proves that the agent has a prompt, by its own transcript."""
    place = {} if exchange.place is None else asdict(exchange.place)
    return {"source": "transcript", "submitted_at_utc": exchange.submitted_at_utc, **place}


@contextmanager
def told_at_once(session: Session, nudge: Callable[[], None]) -> Iterator[None]:
    """Call *nudge* whenever a hook reports in during the body.

    A joined session has no hooks: whoever waits looks by time alone.
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
    """The reports that wait, after the oldest were removed: hooks write on when no gateway lives."""
    found = [path for path, _ in spool.read(folder)]
    for path in found[:-_KEPT_REPORTS]:
        path.unlink(missing_ok=True)
    return frozenset(found)


def essence(text: str) -> str:
    """What every CLI keeps of a prompt: some compose characters, drop invisible ones, change white space."""
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return " ".join(visible.split())
