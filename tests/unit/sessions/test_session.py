"""A session's manifest, read."""

from pathlib import Path

import pytest

from posthouse.contracts import names
from posthouse.sessions import session as sessions
from posthouse.sessions.session import BadManifest, SessionNotFound


def test_a_manifest_that_is_not_there_is_told_apart_from_one_that_cant_be_used(tmp_path: Path) -> None:
    """Whatever stands at its place, callers hear one of two refusals."""
    folder = tmp_path / "folder" / names.MANIFEST_FILE
    folder.mkdir(parents=True)
    broken = tmp_path / "broken.json"
    broken.write_text("{")

    for missing in (tmp_path / names.MANIFEST_FILE, broken / names.MANIFEST_FILE):
        with pytest.raises(SessionNotFound, match="there is no manifest at"):
            sessions.read(missing)
    for unusable in (folder, broken):
        with pytest.raises(BadManifest, match=str(unusable)):
            sessions.read(unusable)
