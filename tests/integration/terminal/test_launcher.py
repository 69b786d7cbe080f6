"""The launcher in a pane: it becomes the program, with the variables of a file that tmux never sees."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from posthouse.support import files, processes
from posthouse.terminal import session, variable_files
from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.pane import Pane
from posthouse.terminal.screen import plain
from posthouse.testing import tmux_log
from posthouse.testing.waiting import wait_for

#: Names that a shell would change, refuse or obey, and values that quoting could break.
_VARIABLES = {
    **dict.fromkeys(("PPID", "UID", "OPTIND", "LINENO", "SHLVL", "_", "IFS"), "7"),
    **dict.fromkeys(("PWD", "ENV", "BASH_ENV", "PYTHONPATH", "PYTHONSTARTUP"), "/nowhere"),
    "QUOTES": "s;e'c\"r#et\n$HOME `id` \\",
    "EMPTY": "",
    "UNICODE": "é🐎",
    "LARGE": "x" * 100_000,
}
#: Writes what it was given to the file that its first argument names, and stays.
_REPORTER = """
import json, os, sys, time
shown = {"environment": dict(os.environ), "argv": sys.argv[2:], "pid": os.getpid()}
open(sys.argv[1] + ".new", "w").write(json.dumps(shown))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


@pytest.fixture
def tmux(tmux_server: Server) -> Tmux:
    return Tmux(tmux_server)


@pytest.fixture
def variables(tmp_path: Path) -> Path:
    files.write_json(tmp_path / "launch-env.json", _VARIABLES, durable=False)
    return tmp_path / "launch-env.json"


Start = Callable[..., Pane]


@pytest.fixture
def start(tmux: Tmux, tmp_path: Path) -> Start:
    """Starts a program by the launcher, in a session of its own."""

    def start(path: Path, argv: list[str], **environment: str) -> Pane:
        pane = session.create(tmux, "gpu", working_directory=tmp_path, environment={}, columns=300)
        command = variable_files.launch_command(path, argv)
        return session.start_program(tmux, pane, command, environment=environment, working_directory=tmp_path)

    return start


def _last_line(tmux: Tmux) -> str:
    """What a program that ended said last, the lines of the pane joined."""
    wait_for(lambda: session.agent_pane(tmux, "gpu").dead)
    rows = session.capture(tmux, session.agent_pane(tmux, "gpu").pane_id).rows
    return "".join(plain(row) for row in rows).strip()


def test_the_program_is_the_panes_own_process_with_exactly_its_variables(
    start: Start, tmux: Tmux, variables: Path, tmp_path: Path
) -> None:
    """Whatever they are called; they win over inherited ones, and tmux knows nothing of them."""
    report = tmp_path / "report"
    words = ["two words", "", "-x", "$HOME"]

    pane = start(variables, [sys.executable, "-I", "-c", _REPORTER, str(report), *words], UID="8", MORE="m")
    wait_for(report.exists)
    shown = json.loads(report.read_text())

    assert (shown["pid"], shown["argv"]) == (pane.pid, words)
    assert {name: shown["environment"].get(name) for name in _VARIABLES} == _VARIABLES
    assert shown["environment"]["MORE"] == "m"
    assert [process.pid for process in processes.tree(pane.pid)] == [pane.pid]
    told = tmux_log.read(tmux.server, "gpu")
    assert (str(variables) in told, "s;e" in told) == (True, False)


def test_the_launcher_adds_nothing_of_its_own(
    start: Start, tmux: Tmux, tmp_path: Path, variables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would add a locale where there is none, and leave broken pipes and file limits ignored."""
    for name in ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    files.write_json(variables, {}, durable=False)

    start(
        variables,
        ["/bin/sh", "-c", "env > seen; grep SigIgn /proc/self/status > ignored; touch ready; exec sleep 600"],
    )
    wait_for((tmp_path / "ready").exists)

    names = [line.partition("=")[0] for line in (tmp_path / "seen").read_text().splitlines()]
    assert [name for name in names if name.startswith("LC_")] == []
    ignored = int((tmp_path / "ignored").read_text().split()[1], 16)
    assert [number for number in (signal.SIGPIPE, signal.SIGXFSZ) if ignored >> (number - 1) & 1] == []


def test_its_path_finds_the_program(start: Start, tmux: Tmux, tmp_path: Path, variables: Path) -> None:
    """A PATH among the variables is the one that is searched."""
    program = tmp_path / "bin" / "mine"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "ran: $0"\n')
    program.chmod(0o755)
    files.write_json(variables, {"PATH": f"{program.parent}:/usr/bin:/bin"}, durable=False)

    start(variables, ["mine"])

    assert _last_line(tmux) == f"ran: {program}"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(Path.unlink, "{path}, which has the variables of the program, is missing", id="missing"),
        pytest.param(
            lambda path: path.chmod(0o644), "{path} is open to other users: run chmod 600 on it", id="open"
        ),
    ],
)
def test_without_a_good_file_nothing_is_started(
    start: Start, tmux: Tmux, tmp_path: Path, variables: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    """The pane's last line says why."""
    spoil(variables)

    start(variables, ["touch", str(tmp_path / "ran")])

    assert _last_line(tmux) == "posthouse: cannot start touch: " + reason.format(path=variables)
    assert not (tmp_path / "ran").exists()


def test_a_program_that_is_missing_is_named(start: Start, tmux: Tmux, variables: Path) -> None:
    """As a shell would say it."""
    start(variables, ["/nowhere/agent"])

    assert _last_line(tmux) == "posthouse: cannot start /nowhere/agent: No such file or directory"


def test_until_it_has_become_the_program_the_pane_waits(
    start: Start, tmux: Tmux, variables: Path, tmp_path: Path
) -> None:
    """A launcher is not taken for the agent."""
    words = list(variable_files.launch_command(variables, ["sleep", "600"]))
    assert variable_files.is_launcher(words)

    pane = start(variables, ["sleep", "600"])
    # While the kernel exchanges the program, it has no words at all.
    wait_for(lambda: processes.command_line(pane.pid) == ["sleep", "600"])

    assert not session.is_waiting(pane)
