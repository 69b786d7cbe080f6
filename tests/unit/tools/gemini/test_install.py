"""Which gemini is installed, on folders laid out as npm lays them out."""

import json
from pathlib import Path

import pytest

from posthouse.errors import Unavailable
from posthouse.tools.gemini import install


class Machine:
    """A folder on PATH, alone."""

    def __init__(self, prefix: Path) -> None:
        self.bin = prefix / "bin"
        self.bin.mkdir()
        self.script = prefix / "lib" / "node_modules" / "@google" / "gemini-cli" / "bundle" / "gemini.js"

    def has_gemini(self, version: str = "0.61.0", *, first: str = "#!/usr/bin/env node") -> None:
        _program(self.script, f"{first}\n")
        manifest = {"name": "@google/gemini-cli", "version": version}
        (self.script.parents[1] / "package.json").write_text(json.dumps(manifest))
        (self.bin / "gemini").symlink_to(self.script)

    def has_node(self, says: str = "v20.20.2") -> None:
        _program(self.bin / "node", f"#!/bin/sh\necho {says}\n")


def _program(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(made.bin))
    return made


def test_a_script_is_started_by_the_node_that_was_checked(machine: Machine) -> None:
    """The pane's PATH may hold another one."""
    machine.has_gemini()
    machine.has_node()

    install.require_supported()
    assert install.executable() == str(machine.bin / "gemini")
    assert install.command() == (str(machine.bin / "node"), str(machine.script))
    assert install.version() == "0.61.0"


def test_a_program_that_is_no_script_is_started_as_it_is(machine: Machine) -> None:
    """It brings its own Node, or is a wrapper that knows where one is."""
    machine.has_gemini(first="#!/bin/sh")

    install.require_supported()
    assert install.command() == (str(machine.bin / "gemini"),)


def test_nothing_is_installed(machine: Machine) -> None:
    """The error names the command that gets it; asking for the version is no error."""
    assert install.version() is None
    with pytest.raises(Unavailable, match="npm install -g @google/gemini-cli"):
        install.require_supported()


def test_node_is_missing(machine: Machine) -> None:
    """The error says what needs it."""
    machine.has_gemini()

    with pytest.raises(Unavailable, match="gemini needs Node"):
        install.require_supported()


def test_node_is_too_old(machine: Machine) -> None:
    """The error says which one was found."""
    machine.has_gemini()
    machine.has_node("v18.20.4")

    with pytest.raises(Unavailable, match=r"needs Node 20, .*/node is v18\.20\.4"):
        install.require_supported()


def test_node_does_not_run(machine: Machine) -> None:
    """It is as good as missing."""
    machine.has_gemini()
    _program(machine.bin / "node", "#!/bin/sh\nexit 127\n")

    with pytest.raises(Unavailable, match="does not run"):
        install.require_supported()


def test_gemini_is_too_old(machine: Machine) -> None:
    """The error names the command that updates it."""
    machine.has_gemini("0.40.1")
    machine.has_node()

    with pytest.raises(Unavailable, match=r"gemini 0\.40\.1 is too old, 0\.41\.0 .*@latest"):
        install.require_supported()


def test_a_manifest_that_cannot_be_read_tells_no_version(machine: Machine) -> None:
    """And keeps nobody from trying."""
    machine.has_gemini()
    machine.has_node()
    (machine.script.parents[1] / "package.json").write_text("{")

    install.require_supported()
    assert install.version() is None
