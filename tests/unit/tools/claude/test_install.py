"""Which claude is installed, on folders laid out as its installers lay them out."""

import json
from pathlib import Path

import pytest

from posthouse.errors import Unavailable
from posthouse.tools.claude import install


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def _on_path(program: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir(parents=True)
    (folder / "claude").symlink_to(program)
    monkeypatch.setenv("PATH", str(folder))
    return folder / "claude"


def test_npms_package_tells_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run to find out."""
    package = tmp_path / "node_modules" / "@anthropic-ai" / "claude-code"
    link = _on_path(_program(package / "bin" / "claude.exe"), tmp_path / "bin", monkeypatch)
    (package / "package.json").write_text(
        json.dumps({"name": "@anthropic-ai/claude-code", "version": "2.1.197"})
    )

    assert (install.executable(), install.version()) == (str(link), "2.1.197")


def test_the_native_installer_names_the_program_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps one beside the other."""
    program = _program(tmp_path / "share" / "claude" / "versions" / "2.1.204")
    _on_path(program, tmp_path / "bin", monkeypatch)

    assert install.version() == "2.1.204"


@pytest.mark.parametrize("manifest", ["{", "[]", '{"name": "other", "version": "1.0.0"}'])
def test_a_program_that_stands_alone_tells_no_version(
    manifest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another package around it is not believed."""
    _on_path(_program(tmp_path / "lib" / "claude-wrapper"), tmp_path / "bin", monkeypatch)
    (tmp_path / "lib" / "package.json").write_text(manifest)

    assert install.version() is None


def test_without_claude_the_command_that_gets_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no version then."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert install.version() is None
    with pytest.raises(Unavailable, match="npm install -g @anthropic-ai/claude-code"):
        install.executable()


def test_an_old_version_is_refused_and_its_update_named() -> None:
    """The first that can be driven is 2.1.0; one that is not told is tried."""
    for told in ("2.1.0", "2.1.197", "3.0.0-beta.1", None):
        install.require_supported(told)
    with pytest.raises(Unavailable, match=r"claude 2\.0\.76 is too old, 2\.1\.0 .*claude-code@latest"):
        install.require_supported("2.0.76")
