"""Whether the agent itself says that it has a prompt: its transcript, or a hook that reported in."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from posthouse.sessions.session import Session
from posthouse.support.inotify import FolderWatch
from posthouse.tools import spool
from posthouse.tools.tool import Tool

#: Reports that nobody will ask for any more.
_KEPT_REPORTS = 200
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")


def of_prompt(tool: Tool, session: Session, text: str) -> Callable[[], bool]:
    """Asks whether *text*, which is about to be typed, has been taken since now."""
    manifest = session.manifest
    home = Path(manifest.launch_plan.home_selector.home_path)
    directory = Path(manifest.working_directory)
    reports = session.root / spool.FOLDER
    wanted = _essence(text)

    def times_told() -> int:
        return sum(_essence(exchange.prompt) == wanted for exchange in tool.exchanges(home, directory))

    before = times_told()
    already = _prune(reports)

    def is_reported() -> bool:
        for path, report in spool.read(reports):
            if path not in already and tool.meaning(report) == "submitted":
                prompt = tool.submitted_prompt(report)
                if prompt is None or _essence(prompt) == wanted:
                    return True
        return False

    return lambda: is_reported() or times_told() > before


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


def _essence(text: str) -> str:
    """What every CLI keeps of a prompt: some compose characters, drop invisible ones, change white space."""
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return " ".join(visible.split())
