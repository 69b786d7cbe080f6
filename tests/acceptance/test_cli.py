"""The command line itself: help, errors, exit codes, doctor, completion."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posthouse import __version__

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands


@pytest.mark.ordinary_user
def test_both_names_are_one_program(posthouse: "Commands") -> None:
    """`houmao-mgr` is `posthouse` under the contract's name, and speaks of itself by it."""
    assert posthouse.ok("--version") == f"posthouse {__version__}\n"
    assert posthouse.run("--version", program="houmao-mgr").stdout == f"posthouse {__version__}\n"
    assert posthouse.run(program="houmao-mgr").stdout.startswith("usage: houmao-mgr COMMAND")


def test_a_wrong_command_is_exit_code_2_and_suggests_the_right_one(posthouse: "Commands") -> None:
    """A typing mistake costs one more line, not a search in the manual."""
    done = posthouse.run("agents", "lsit")

    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "error: posthouse agents has no command 'lsit'; did you mean `posthouse agents list`?\n"
    )


def test_errors_are_json_for_programs(posthouse: "Commands") -> None:
    """With --json stderr has one object with a code and a message, and stdout stays empty."""
    done = posthouse.run("--json", "agents", "state", "nobody")

    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr) == {
        "error": {
            "code": "agent_not_found",
            "message": "no agent is called 'nobody'; "
            "there are no agents yet: `posthouse agents launch --help`",
        }
    }


def test_the_style_comes_from_the_environment_and_a_flag_wins(posthouse: "Commands") -> None:
    """HOUMAO_CLI_PRINT_STYLE sets the style of commands that don't say."""
    more = {"HOUMAO_CLI_PRINT_STYLE": "json"}

    assert json.loads(posthouse.ok("agents", "list", more=more)) == {"agents": []}
    assert posthouse.ok("agents", "list", "--print-plain", more=more).startswith("no agents yet")


def test_a_reader_that_leaves_is_no_error(posthouse: "Commands") -> None:
    """`posthouse … | head -0` is quiet."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        posthouse.argv("--help"),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=posthouse.environment,
        check=False,
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.ordinary_user
def test_a_bad_root_is_one_line(posthouse: "Commands") -> None:
    """A wrong variable is named together with what it should be."""
    done = posthouse.run("agents", "list", more={"HOUMAO_GLOBAL_REGISTRY_DIR": "relative"})

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("error: HOUMAO_GLOBAL_REGISTRY_DIR is 'relative'; it must be an absolute path\n")


def test_doctor_works_without_tmux_and_says_how_to_get_it(posthouse: "Commands", tmp_path: Path) -> None:
    """On a bare machine doctor explains instead of failing in some other way; exit 1: tmux is needed."""
    done = posthouse.run("doctor", "--json", more={"PATH": str(tmp_path)})

    report = json.loads(done.stdout)
    tmux = next(piece for piece in report["pieces"] if piece["name"] == "tmux")
    assert (done.returncode, done.stderr, report["ok"]) == (1, "", False)
    assert (tmux["problem"], tmux["needed"]) == ("not installed", True)
    assert tmux["get"].endswith("apt-get install -y tmux")


@pytest.mark.ordinary_user
def test_doctor_is_content_with_python_and_tmux(posthouse: "Commands", tmp_path: Path) -> None:
    """What is missing but not needed is shown with what it would enable, and is no failure."""
    tmux = tmp_path / "tmux"
    tmux.write_text("#!/bin/sh\necho tmux 3.4\n")
    tmux.chmod(0o755)
    done = posthouse.run("doctor", more={"PATH": f"{tmp_path}"})

    assert done.returncode == 0, done.stderr
    assert "podman: not installed. It would enable the sandbox for unattended work." in done.stdout
    assert f"registry  not created yet  {posthouse.folder}/registry" in done.stdout
    assert "agents: 0 live, 0 with a gateway" in done.stdout


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        pytest.param(["agents", "la"], ["launch", "last"], id="a command"),
        pytest.param(["agents", "launch", "--tool", "sc"], ["scripted"], id="a value"),
        pytest.param(["agents", "list", "--state", "re"], ["relaunching", "retired"], id="a choice"),
    ],
)
def test_bash_completes(posthouse: "Commands", words: list[str], candidates: list[str]) -> None:
    """The printed script makes bash ask for candidates and get them."""
    script = (
        'eval "$(posthouse completion bash)"; COMP_WORDS=(posthouse "$@"); COMP_CWORD=$#; _posthouse; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}:{posthouse.environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words],
        env=posthouse.environment | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == candidates


@pytest.mark.ordinary_user
def test_a_removed_working_directory_is_no_obstacle(posthouse: "Commands") -> None:
    """A command that needs no folder works where the shell's own was removed."""
    posthouse.workdir.rmdir()
    script = f"mkdir {posthouse.workdir} && cd {posthouse.workdir} && rmdir {posthouse.workdir} && "
    environment = posthouse.environment
    listing = script + " ".join(posthouse.argv("agents", "list"))
    launch = script + " ".join(posthouse.argv("agents", "launch", "--tool", "scripted", "--name", "x"))

    listed = subprocess.run(["sh", "-c", listing], env=environment, capture_output=True, text=True)
    launched = subprocess.run(["sh", "-c", launch], env=environment, capture_output=True, text=True)
    posthouse.workdir.mkdir()

    assert (listed.returncode, listed.stderr) == (0, "")
    assert (launched.returncode, launched.stderr) == (
        1,
        f"error: working directory {posthouse.workdir} is not a folder\n",
    )


def test_an_output_without_unicode_gets_what_it_can_show(posthouse: "Commands") -> None:
    """A terminal or a log of another time is no reason to fail."""
    done = posthouse.run("agents", "--help", more={"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: posthouse agents COMMAND \\u2026\n")


def test_doctor_says_when_a_clis_screens_are_read_by_an_older_pack(
    posthouse: "Commands", tmp_path: Path
) -> None:
    """A release that nobody recorded is driven all the same, and the doubt is told."""
    folder = tmp_path / "newer"
    folder.mkdir()
    (folder / "package.json").write_text('{"name": "@anthropic-ai/claude-code", "version": "9.9.9"}')
    (folder / "claude").write_text("#!/bin/sh\n")
    (folder / "claude").chmod(0o755)

    done = posthouse.run("doctor", more={"PATH": f"{folder}:{os.environ['PATH']}"})

    assert "pack claude 2.1 is the nearest to 9.9.9, which has no pack" in done.stdout
