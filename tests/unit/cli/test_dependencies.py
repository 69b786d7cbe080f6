"""Looking for programs."""

import sys
from pathlib import Path

import pytest

from posthouse.cli import dependencies
from posthouse.cli.dependencies import Dependency, Finding


def _program(folder: Path, name: str, says: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return str(path)


def _piece(name: str) -> Dependency:
    return next(piece for piece in dependencies.catalogue(is_root=True) if piece.name == name)


def test_what_is_not_on_the_path_is_missing(tmp_path: Path) -> None:
    """A missing piece is found missing without running anything."""
    tmux = _piece("tmux")

    assert dependencies.inspect(tmux, search_path=str(tmp_path)) == Finding(
        dependency=tmux, path=None, version=None, problem="not installed"
    )


@pytest.mark.parametrize(
    ("says", "version", "problem"),
    [
        ("tmux 3.3a", "3.3a", None),
        ("tmux next-3.6", "3.6", None),
        ("tmux 3.1c", "3.1c", "3.1c is too old, 3.2 or newer is needed"),
        ("tmux openbsd", None, None),
    ],
)
def test_an_old_tmux_is_a_problem(
    tmp_path: Path, says: str, version: str | None, problem: str | None
) -> None:
    """The version that a program says is compared; one that can't be read is not held against it."""
    path = _program(tmp_path, "tmux", says)

    assert dependencies.inspect(_piece("tmux"), search_path=str(tmp_path)) == Finding(
        dependency=_piece("tmux"), path=path, version=version, problem=problem
    )


def test_an_agent_cli_is_read_and_never_run(tmp_path: Path) -> None:
    """The version is in the package above the program: running it would take a second."""
    package = tmp_path / "lib" / "codex"
    (package / "bin").mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.116.2"}')
    program = _program(package / "bin", "codex.js", f"; touch {tmp_path}/ran")
    (tmp_path / "codex").symlink_to(program)

    found = dependencies.inspect(_piece("codex"), search_path=str(tmp_path))

    assert (found.version, found.problem) == ("0.116.2", None)
    assert not (tmp_path / "ran").exists()


def test_a_native_install_has_its_version_in_its_name(tmp_path: Path) -> None:
    """Claude's own installer links to a file named by its version."""
    (tmp_path / "versions").mkdir()
    program = _program(tmp_path / "versions", "2.1.19", "")
    (tmp_path / "claude").symlink_to(program)

    assert dependencies.inspect(_piece("claude"), search_path=str(tmp_path)).version == "2.1.19"


def test_python_is_the_one_that_runs_this() -> None:
    """The interpreter needs no search."""
    found = dependencies.inspect(_piece("python"), search_path="")

    assert (found.path, found.problem) == (sys.executable, None)


def test_only_python_and_tmux_are_needed_and_others_use_sudo() -> None:
    """Everything else only adds abilities; a person who is not root gets a command that works."""
    catalogue = dependencies.catalogue(is_root=False)

    assert [piece.name for piece in catalogue if piece.needed] == ["python", "tmux"]
    assert (
        next(piece.install_command for piece in catalogue if piece.name == "tmux")
        == "sudo apt-get install -y tmux"
    )
