"""What a failure shows of a real CLI that was waited for in vain: its screen and its transcript."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from posthouse.terminal.client import Server, Tmux
from posthouse.testing.waiting import witness

_PANES = "#{pane_id} session=#{session_name} dead=#{pane_dead} mode=#{pane_in_mode} title=#{pane_title}"
_SHOWN_FILES = 4
_SHOWN_BYTES = 2000


def screens_of(server: Server) -> AbstractContextManager[None]:
    """In the body, a wait in vain shows every pane of *server*."""
    return witness(lambda: "\n".join(_screens(Tmux(server))))


def transcripts_below(folder: Path) -> AbstractContextManager[None]:
    """In the body, a wait in vain shows the ends of the newest transcripts and logs below *folder*."""
    return witness(lambda: "\n".join(_ends(folder)))


def _screens(tmux: Tmux) -> Iterator[str]:
    for pane in tmux.run("list-panes", "-a", "-F", _PANES).splitlines():
        yield f"screen of {pane}"
        rows = tmux.run("capture-pane", "-p", "-t", pane.partition(" ")[0]).splitlines()
        yield from (f"  | {row}" for row in rows if row.strip())


def _ends(folder: Path) -> Iterator[str]:
    found = [
        path for path in folder.rglob("*.json*") if path.suffix == ".jsonl" or path.parent.name == "chats"
    ]
    for path in sorted(found, key=_changed_at)[-_SHOWN_FILES:]:
        yield f"end of {path.relative_to(folder)}"
        yield path.read_bytes()[-_SHOWN_BYTES:].decode(errors="replace").rstrip()


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
