"""The hook spool: a folder of the session where an agent's hooks write one small file per event.

The CLI runs a shell command that writes the report, so it needs neither a gateway nor Python. Reports
stay there until a gateway reads them. Each is written to a temporary file and renamed.
"""

import shlex
from datetime import UTC, datetime
from pathlib import Path

from posthouse.support import clock, untrusted_files
from posthouse.tools.tool import HookReport

#: Inside the session's folder.
FOLDER = "hooks"
_MAX_BYTES = 1 << 20
#: A unique name: gemini expands the agent's variables in commands before the shell does.
_VARIABLE = "posthouse_report"
#: A late reader gets the newest reports only.
_MAX_REPORTS = 1000


def command(folder: Path, event: str, *, answer: str = "") -> str:
    """The shell command that reports *event*; its JSON arrives on stdin. It always exits with 0.

    *answer* is printed, for CLIs that treat empty output as a decision.
    """
    write = (
        f"cd {shlex.quote(str(folder))} && {_VARIABLE}=$(mktemp .XXXXXXXXXXXX) && "
        f'head -c {_MAX_BYTES} > "${_VARIABLE}" && mv "${_VARIABLE}" "{event}${_VARIABLE}.json"'
    )
    output = f"; printf %s {shlex.quote(answer)}" if answer else ""
    return f"{{ {write}; }} 2>/dev/null{output}; exit 0"


def is_report(command: object) -> bool:
    """Whether `command` made *command*, for any folder."""
    return isinstance(command, str) and f"{_VARIABLE}=$(mktemp " in command


def read(folder: Path, *, after_ns: int = -1) -> list[tuple[Path, HookReport]]:
    """The newest reports in *folder*, oldest first, each with its file. Invalid files are skipped.

    *after_ns*: only reports written later than this, in nanoseconds since the epoch.
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


def _report(path: Path) -> HookReport | None:
    try:
        payload = untrusted_files.read_json(path, max_bytes=_MAX_BYTES)
        moment = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except (OSError, ValueError):
        return None
    if not isinstance(payload, dict):
        return None
    return HookReport(event=path.name.split(".")[0], at_utc=clock.iso_micros(moment), payload=payload)
