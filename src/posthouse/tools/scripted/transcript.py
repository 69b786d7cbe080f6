"""The agent's transcripts: one JSONL file per conversation, in `projects/` of its home.

Records: `session` (id, role), `prompt`, `outcome` (with the answer and the tokens), `withdrawn` (the last
prompt was withdrawn to the composer). A prompt is written on submission, its outcome when it is known.
Without `is_kept` nothing is written to disk: some agents leave no transcript.
"""

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posthouse.support import clock, files

_TAIL_BYTES = 4 * 1024 * 1024
_SLUG_CHARS = 100
_SAFE_ID = re.compile(r"[A-Za-z0-9-]{1,64}\Z")


class Transcript:
    """One conversation on disk."""

    def __init__(self, path: Path, *, is_kept: bool = True) -> None:
        self.path = path
        self.session_id = path.stem
        self._is_kept = is_kept

    @classmethod
    def new(cls, home: Path, working_directory: Path, *, role: str, is_kept: bool) -> "Transcript":
        """Start a conversation. With *is_kept*, its file exists on return."""
        folder = files.private_folder(project_folder(home, working_directory))
        transcript = cls(folder / f"{_new_id()}.jsonl", is_kept=is_kept)
        transcript.append("session", session_id=transcript.session_id, role=role)
        return transcript

    @classmethod
    def find(cls, home: Path, working_directory: Path, session_id: str) -> "Transcript | None":
        if not _SAFE_ID.match(session_id):
            return None
        path = project_folder(home, working_directory) / f"{session_id}.jsonl"
        return cls(path) if path.is_file() else None

    @classmethod
    def latest(cls, home: Path, working_directory: Path) -> "Transcript | None":
        """The most recently written conversation, or None."""
        folder = project_folder(home, working_directory)
        paths = list(folder.glob("*.jsonl")) if folder.is_dir() else []
        return cls(max(paths, key=lambda path: path.stat().st_mtime_ns)) if paths else None

    def append(self, kind: str, **fields: object) -> None:
        if self._is_kept:
            files.append_line(self.path, {"type": kind, "at": clock.iso_micros(clock.now()), **fields})

    def records(self) -> list[Mapping[str, Any]]:
        """The newest records, oldest first; an incomplete last line is skipped."""
        if not self._is_kept:
            return []
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - _TAIL_BYTES))
            lines = stream.read(_TAIL_BYTES).split(b"\n")
        whole = lines[1:-1] if size > _TAIL_BYTES else lines[:-1]
        return [json.loads(line) for line in whole]

    def prompts(self) -> tuple[str, ...]:
        return tuple(record["text"] for record in self.records() if record["type"] == "prompt")

    def role(self) -> str:
        """The conversation's role; "" if it has none or its record is outside the tail."""
        return next((str(record["role"]) for record in self.records() if record["type"] == "session"), "")


def project_folder(home: Path, working_directory: Path) -> Path:
    """The folder with the conversations of one working directory."""
    folder_path = str(working_directory.resolve())
    # The checksum distinguishes `a/b` from `a-b`.
    slug = re.sub(r"[^A-Za-z0-9]", "-", folder_path)[-_SLUG_CHARS:]
    return home / "projects" / f"{slug}-{zlib.crc32(folder_path.encode()):08x}"


def _new_id() -> str:
    digits = os.urandom(16).hex()
    return "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))
