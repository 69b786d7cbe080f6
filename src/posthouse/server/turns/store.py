"""Records of headless agents on disk: atomic, durable and crash-safe by their order of writes.

A turn is marked before it is recorded, and unmarked after its final record, so a starting server finds every
unfinished turn in two files of each agent. An unreadable record counts as absent and is logged.
"""

import errno
import logging
import re
from pathlib import Path
from typing import Literal, TypeVar

from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts import strict
from posthouse.contracts.strict import Strict
from posthouse.support import files, untrusted_files

S = TypeVar("S", bound=Strict)

#: The files that name unfinished turns: the active one, and the one that waits at the gateway.
Mark = Literal["active_turn.json", "waiting_turn.json"]

#: Valid names of folders and files; other ids are not found.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")


class TurnStore:
    """The folder `managed_agents` of one server. Called in threads; one caller per agent at a time."""

    def __init__(self, root: Path, log: logging.Logger) -> None:
        self._root = root / mf.MANAGED_AGENTS
        self._log = log

    def agents(self) -> list[str]:
        """The tracked ids of all agents with records."""
        if not self._root.is_dir():
            return []
        return sorted(path.name for path in self._root.iterdir() if path.is_dir())

    def authority(self, agent: str) -> mf.Authority | None:
        return self._read(self._root / agent / mf.AUTHORITY, mf.Authority)

    def write_authority(self, authority: mf.Authority) -> None:
        folder = self._folder(self._root / authority.tracked_agent_id)
        files.write_json(folder / mf.AUTHORITY, strict.plain(authority), durable=True)

    def marked(self, agent: str, mark: Mark) -> mf.ActiveTurn | None:
        """The turn that may be unfinished."""
        return self._read(self._root / agent / mark, mf.ActiveTurn)

    def turn(self, agent: str, turn_id: str) -> mf.TurnRecord | None:
        if not _NAME.fullmatch(turn_id):
            return None
        return self._read(self._root / agent / mf.TURNS / f"{turn_id}.json", mf.TurnRecord)

    def turns(self, agent: str) -> list[mf.TurnRecord]:
        """All turns of *agent* with a readable record."""
        found = (self._root / agent / mf.TURNS).glob("[!.]*.json")
        return [record for path in found if (record := self._read(path, mf.TurnRecord)) is not None]

    def begin(self, record: mf.TurnRecord, mark: Mark) -> None:
        """Write a turn that is about to start, or to wait. Durable when this returns."""
        self.mark(record, mark)
        self._write(record)

    def mark(self, record: mf.TurnRecord, mark: Mark) -> None:
        """Mark a turn as unfinished, with its current data."""
        folder = self._folder(self._root / record.tracked_agent_id)
        files.write_json(folder / mark, strict.plain(record.running()), durable=True)

    def end(self, record: mf.TurnRecord, mark: Mark) -> None:
        """Write the outcome of a turn."""
        self._write(record)
        self.clear(record.tracked_agent_id, mark)

    def drop(self, record: mf.TurnRecord, mark: Mark) -> None:
        """Delete a turn that was never accepted."""
        self._path(record).unlink(missing_ok=True)
        self.clear(record.tracked_agent_id, mark)

    def clear(self, agent: str, mark: Mark) -> None:
        """Remove the mark: no turn of *agent* is active, or waits."""
        (self._root / agent / mark).unlink(missing_ok=True)

    def _write(self, record: mf.TurnRecord) -> None:
        path = self._path(record)
        self._folder(path.parent)
        files.write_json(path, strict.plain(record), durable=True)

    def _folder(self, path: Path) -> Path:
        """Create a folder below the server's folder.

        Raises:
            OSError: It can't be created. The server's folder itself is never recreated, since its other files
                are lost too.
        """
        if not self._root.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(self._root.parent))
        return files.private_folder(path)

    def _path(self, record: mf.TurnRecord) -> Path:
        return self._root / record.tracked_agent_id / mf.TURNS / f"{record.turn_id}.json"

    def _read(self, path: Path, kind: type[S]) -> S | None:
        try:
            return strict.decode(untrusted_files.read_bytes(path), kind)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            self._log.warning("record unreadable", extra={"path": str(path), "error": str(error)})
            return None
