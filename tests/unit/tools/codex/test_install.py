"""Which codex is installed, on folders laid out as npm lays them out."""

import json
from pathlib import Path

import pytest

from posthouse.errors import Unavailable
from posthouse.tools.codex import install


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def _npm(prefix: Path, monkeypatch: pytest.MonkeyPatch, *, version: str = "0.166.0") -> Path:
    """An npm package with its launcher on PATH; returns the package's folder."""
    package = prefix / "node_modules" / "@openai" / "codex"
    launcher = _program(package / "bin" / "codex.js")
    (package / "package.json").write_text(json.dumps({"version": version}))
    commands = prefix / "node_modules" / ".bin"
    commands.mkdir()
    (commands / "codex").symlink_to(launcher)
    monkeypatch.setenv("PATH", str(commands))
    return package


@pytest.mark.parametrize(
    "native",
    [
        "../codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        "node_modules/@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
        "vendor/x86_64-unknown-linux-musl/codex/codex",
    ],
)
def test_npms_launcher_is_passed_by(native: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The native program is found beside the package, in it, or where older ones have it."""
    program = _program(_npm(tmp_path, monkeypatch) / native)

    assert Path(install.executable()).resolve() == program.resolve()
    assert install.version() == "0.166.0"


def test_a_launcher_without_its_program_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says itself what is missing."""
    _npm(tmp_path, monkeypatch)

    assert install.executable() == str(tmp_path / "node_modules" / ".bin" / "codex")


def test_a_program_that_stands_alone_tells_its_version_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is run to find out."""
    program = _program(tmp_path / "bin" / "codex")
    monkeypatch.setenv("PATH", str(program.parent))
    before = install.version()
    (tmp_path / "codex-package.json").write_text('{"version": "0.170.1"}')

    assert (install.executable(), before, install.version()) == (str(program), None, "0.170.1")


def test_without_codex_the_command_that_gets_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no version then."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert install.version() is None
    with pytest.raises(Unavailable, match="npm install -g @openai/codex"):
        install.executable()


def test_a_version_that_is_too_old_is_refused() -> None:
    """Later ones, and what is not told, are given a try."""
    for told in ("0.116.0", "0.166.0-linux-x64", "1.0.0", None, "nightly"):
        install.require_supported(told)

    with pytest.raises(Unavailable, match=r"codex 0\.115\.9 is too old, 0\.116\.0 is needed"):
        install.require_supported("0.115.9")
