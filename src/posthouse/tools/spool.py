"""Where an agent's hooks report in: one small file per event, in a folder of the session.

A report is written by a shell command that the CLI runs, so it needs neither a gateway nor Python, and
it waits there while no gateway lives. It appears whole: written beside its place and renamed.
"""

import shlex
from datetime import UTC, datetime
from pathlib import Path

from posthouse.support import clock, untrusted_files
from posthouse.tools.tool import Report

#: Below the session's folder.
FOLDER = "hooks"
_MAX_BYTES = 1 << 20
#: A name nobody else has: gemini puts the agent's own variables into commands before the shell sees them.
_VARIABLE = "posthouse_report"
#: A reader that comes late is interested in the latest.
_MAX_REPORTS = 1000


def command(folder: Path, event: str, *, answer: str = "") -> str:
    """The shell command that reports *event*, whose JSON comes on its stdin. It never fails the CLI.

    *answer* is printed for CLIs that take silence for a decision.
    """
    reported = (
        f"cd {shlex.quote(str(folder))} && {_VARIABLE}=$(mktemp .XXXXXXXXXXXX) && "
        f'head -c {_MAX_BYTES} > "${_VARIABLE}" && mv "${_VARIABLE}" "{event}${_VARIABLE}.json"'
    )
    said = f"; printf %s {shlex.quote(answer)}" if answer else ""
    return f"{{ {reported}; }} 2>/dev/null{said}; exit 0"


def is_report(command: object) -> bool:
    """Whether *command* is one of ours, whichever folder it reports to."""
    return isinstance(command, str) and f"{_VARIABLE}=$(mktemp " in command


def read(folder: Path, *, after_ns: int = -1) -> list[tuple[Path, Report]]:
    """The newest reports that wait, oldest first, each with its file. What is no report is left out.

    With *after_ns* only those that were made later, in nanoseconds of the epoch.
    """
    try:
        found = [(_made_at(path), path) for path in folder.iterdir() if path.suffix == ".json"]
    except FileNotFoundError:
        return []
    newest = [path for made_at, path in sorted(found) if made_at > after_ns][-_MAX_REPORTS:]
    reports = [(path, _report(path)) for path in newest]
    return [(path, report) for path, report in reports if report is not None]


def _made_at(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except FileNotFoundError:  # another reader has just removed it
        return 0


def _report(path: Path) -> Report | None:
    try:
        payload = untrusted_files.read_json(path, max_bytes=_MAX_BYTES)
        moment = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except (OSError, ValueError):
        return None
    if not isinstance(payload, dict):
        return None
    return Report(event=path.name.split(".")[0], at_utc=clock.iso_micros(moment), payload=payload)
