"""`./run`, `./test` and their set-up, on a machine where only the things named are installed.

Python, pip and apt-get are stood in for by small scripts that note what they were asked: these tests are
about what set-up decides to do. `./test` itself shows the real thing: it has just set up this environment,
and as root does so again for an ordinary user.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from posthouse.testing.waiting import LIMIT_SECONDS

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests/data/scripts"
FAKE_PYTHON = (FAKES / "fake_python.sh").read_text()
FAKE_APT = (FAKES / "fake_apt_get.sh").read_text()
#: All that the scripts, and the fakes, use of a bare Debian system.
BARE_SYSTEM = """
awk bash basename cat chmod cp dirname env find flock grep id ln mkdir mktemp mv nproc readlink rm sha256sum
sleep tail touch
"""


def write_script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A clone of the scripts, and a folder that is all there is on PATH."""

    folder: Path
    clone: Path

    def provide(self, command: str, text: str = "#!/bin/bash\n", *, package: str | None = None) -> None:
        """Install a command, or have apt-get install it with *package*."""
        folder = self.folder / "bin" if package is None else self.folder / "packages" / package
        write_script(folder / command, text)

    def provide_python(self, command: str, *, minor: int, package: str | None = None) -> None:
        self.provide(command, FAKE_PYTHON, package=package)
        self.provide(f"{command}.version", str(minor), package=package)

    def remove(self, command: str) -> None:
        (self.folder / "bin" / command).unlink()

    def become(self, user_id: int) -> None:
        self.provide("id", f"#!/bin/bash\necho {user_id}\n")

    def set(self, condition: str) -> None:
        (self.folder / condition).touch()

    def unset(self, condition: str) -> None:
        (self.folder / condition).unlink()

    def calls(self) -> list[str]:
        """What was asked of Python, pip and apt-get since the last look."""
        noted = self.folder / "calls"
        lines = noted.read_text().splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return lines

    def start(self, script: str, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.clone / script, *words],
            cwd="/",
            env={"PATH": str(self.folder / "bin"), "MACHINE": str(self.folder), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.start(script, *words, **environment)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """What Posthouse needs, all there; used by an ordinary user, with a blank in the path of the clone."""
    machine = Machine(folder=tmp_path, clone=tmp_path / "my clone")
    for folder in ("scripts", "requirements"):
        shutil.copytree(ROOT / folder, machine.clone / folder)
    for file in ("run", "test", "pyproject.toml"):
        shutil.copy(ROOT / file, machine.clone / file)
    (tmp_path / "bin").mkdir()
    for command in BARE_SYSTEM.split():
        found = shutil.which(command, path="/usr/bin:/bin")
        assert found is not None, command
        (tmp_path / "bin" / command).symlink_to(found)
    machine.remove("id")
    machine.become(1000)
    machine.provide("tmux")
    machine.provide("ps")
    machine.provide_python("python3", minor=12)
    return machine


RUN_SET_UP = ["venv", "download run.lock", "install run.lock", "install posthouse"]
TEST_SET_UP = ["download test.lock", "install test.lock", "install posthouse"]


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.removeprefix("posthouse: ") for line in done.stderr.splitlines()]


def command_of(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.splitlines()[0]


@pytest.mark.ordinary_user
def test_the_first_start_sets_up_and_the_second_says_nothing(machine: Machine) -> None:
    """Set-up is done once, with a line per step, and is silent when there is nothing to do."""
    first = machine.run("run", "agents", "list")
    first_calls = machine.calls()
    second = machine.run("run", "agents", "list")

    packages = len(re.findall(r"^[a-z]", (ROOT / "requirements/run.lock").read_text(), re.MULTILINE))
    assert first_calls == RUN_SET_UP
    assert [re.sub(r"\d+ s$", "N s", line) for line in said(first)] == [
        f"making a virtual environment in {machine.clone}/.venv with Python 3.12",
        f"fetching {packages} packages",
        "installing them",
        "set up in N s",
    ]
    assert (second.returncode, second.stderr, machine.calls()) == (0, "", [])
    assert command_of(first) == command_of(second) == "posthouse agents list"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], "demo up"),
        (["down"], "demo down"),
        (["reset", "--yes"], "demo reset --yes"),
        (["help"], "--help"),
        (["--version"], "--version"),
        (["agents", "prompt", "a", "two  words"], "agents prompt a two  words"),
    ],
)
def test_run_starts_the_demo_or_passes_its_words_on(machine: Machine, words: list[str], command: str) -> None:
    """`./run` alone is the demo, `down` and `reset` end it; everything else is a command of `posthouse`."""
    assert command_of(machine.run("run", *words)) == f"posthouse {command}"


def demo_settings(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in done.stdout.splitlines()[1:])
    return {name: value for name, _, value in pairs if name.startswith(("HOUMAO_", "POSTHOUSE_"))}


def test_the_demo_has_state_and_a_tmux_server_of_its_own(machine: Machine) -> None:
    """Whatever the caller's environment names, `./run` sees the demo's agents and no others."""
    done = machine.run("run", POSTHOUSE_TMUX_SOCKET="theirs", HOUMAO_GLOBAL_REGISTRY_DIR="/elsewhere")

    home = machine.clone / ".posthouse"
    settings = demo_settings(done)
    socket = settings.pop("POSTHOUSE_TMUX_SOCKET")
    assert re.fullmatch(r"posthouse-[0-9a-f]{8}", socket)
    assert settings == {
        "POSTHOUSE_HOME": str(home),
        "POSTHOUSE_PROG": "./run",
        "HOUMAO_GLOBAL_REGISTRY_DIR": f"{home}/registry",
        "HOUMAO_GLOBAL_RUNTIME_DIR": f"{home}/runtime",
        "HOUMAO_GLOBAL_MAILBOX_DIR": f"{home}/mailbox",
    }
    assert home.stat().st_mode & 0o777 == 0o700


def test_two_demos_share_nothing(machine: Machine, tmp_path: Path) -> None:
    """Another POSTHOUSE_HOME is another tmux server and other state."""
    here = demo_settings(machine.run("run"))
    there = demo_settings(machine.run("run", POSTHOUSE_HOME=str(tmp_path / "other")))

    assert {name for name in here if here[name] == there[name]} == {"POSTHOUSE_PROG"}


def test_test_adds_to_what_run_installed(machine: Machine) -> None:
    """`./test` leaves the environment of a running demo in place, and what it adds serves `./run` too."""
    machine.run("run")
    machine.calls()

    machine.run("test", "--set-up")
    added = machine.calls()
    machine.run("run")

    assert added == TEST_SET_UP
    assert machine.calls() == []


@pytest.mark.parametrize("change", ["lock", "pyproject", "place", "interpreter", "stamp"])
def test_an_environment_that_no_longer_fits_is_built_anew(machine: Machine, change: str) -> None:
    """Set-up repeats itself after a pull, a move of the clone, another Python, or an end before its own."""
    machine.run("run")
    machine.calls()
    match change:
        case "lock":
            (machine.clone / "requirements/run.lock").write_text("other==1\n")
        case "pyproject":
            (machine.clone / "pyproject.toml").write_text("[project]\n")
        case "place":
            moved = machine.folder / "moved"
            machine.clone.rename(moved)
            machine = Machine(folder=machine.folder, clone=moved)
        case "interpreter":
            (machine.clone / ".venv/bin/python").unlink()
        case "stamp":
            (machine.clone / ".venv/ready.run").unlink()

    machine.run("run")

    assert machine.calls() == RUN_SET_UP


def test_a_failed_download_says_why_and_the_next_start_goes_on(machine: Machine) -> None:
    """Without a network set-up ends with pip's words; what was downloaded before stays."""
    machine.set("no-network")
    failed = machine.run("run")
    machine.calls()
    machine.unset("no-network")
    kept = machine.clone / ".venv" / wheels_of(machine, "run") / "half.whl"
    kept.parent.mkdir()
    kept.touch()

    again = machine.run("run")

    log = machine.clone / ".venv/set-up.log"
    assert failed.returncode == 1
    assert said(failed)[-2:] == [
        "no route to host",
        f"could not fetch the packages; the whole log is in {log}",
    ]
    assert (again.returncode, machine.calls(), kept.exists()) == (0, RUN_SET_UP, True)


def wheels_of(machine: Machine, level: str) -> str:
    """The folder of downloads that belongs to the lock as it is."""
    lock = machine.clone / f"requirements/{level}.lock"
    return f"wheels-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_set_up_is_taken_up_again(machine: Machine, by: signal.Signals) -> None:
    """Ended in the middle, by Ctrl-C or the hard way, set-up leaves nothing that the next start trusts."""
    machine.set("hold")
    process = machine.start("run")
    read_until(process, "fetching")
    os.killpg(process.pid, by)
    process.communicate(timeout=LIMIT_SECONDS)
    machine.calls()
    machine.unset("hold")

    again = machine.run("run")

    assert process.returncode != 0
    assert (again.returncode, command_of(again), machine.calls()) == (0, "posthouse demo up", RUN_SET_UP)


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"it never said {words!r}")


def test_of_two_set_ups_at_once_one_works_and_one_waits(machine: Machine) -> None:
    """A second start says that it waits, and then finds everything done."""
    machine.set("hold")
    first = machine.start("run")
    read_until(first, "fetching")
    second = machine.start("run")
    read_until(second, "another set-up is at work")
    machine.set("go")

    outputs = [process.communicate(timeout=LIMIT_SECONDS)[0].splitlines()[0] for process in (first, second)]

    assert outputs == ["posthouse demo up"] * 2
    assert machine.calls() == RUN_SET_UP


def test_an_ordinary_user_is_told_what_to_type(machine: Machine) -> None:
    """Without the right to install, set-up gives the exact command for it, and touches nothing."""
    machine.remove("tmux")
    machine.set("no-venv")
    machine.provide("apt-get", FAKE_APT)

    done = machine.run("run")

    packages = "tmux python3.12-venv"
    command = f"sudo apt-get update && sudo apt-get install {packages}"
    assert (done.returncode, said(done)) == (1, [f"missing: {packages}. Install with:  {command}"])
    assert machine.calls() == []
    assert not (machine.clone / ".venv").exists()


@pytest.mark.parametrize("way", ["root", "sudo"])
def test_who_may_install_gets_only_what_is_missing(machine: Machine, way: str) -> None:
    """As root, or where sudo asks for no password, missing system packages are installed unasked."""
    for command, package in (("tmux", "tmux"), ("ps", "procps")):
        machine.remove(command)
        machine.provide(command, package=package)
    machine.provide("apt-get", FAKE_APT)
    if way == "root":
        machine.become(0)
    else:
        machine.provide("sudo", '#!/bin/bash\n[ "$1" = -n ] && [ "$2" = true ] || exec "${@:2}"\n')

    run = machine.run("run")
    for_run = machine.calls()
    test = machine.run("test", "--set-up")
    for_test = machine.calls()

    assert for_run == [*apt_calls("tmux"), *RUN_SET_UP]
    assert for_test == [*apt_calls("procps"), *TEST_SET_UP]
    assert (run.returncode, said(run)[0]) == (0, "installing system packages: tmux")
    assert (test.returncode, said(test)[0]) == (0, "installing system packages: procps")


def apt_calls(package: str) -> list[str]:
    return ["apt-get update -qq", f"apt-get install -qq --yes --no-install-recommends {package}"]


def test_a_machine_without_python_gets_one_that_is_new_enough(machine: Machine) -> None:
    """Where the release's own Python turns out to be too old, the newer one beside it is taken."""
    machine.become(0)
    machine.remove("python3")
    machine.provide_python("python3", minor=10, package="python3-venv")
    machine.provide_python("python3.11", minor=11, package="python3.11-venv")
    machine.provide("apt-get", FAKE_APT)

    done = machine.run("run")

    installed = [call.split()[-1] for call in machine.calls() if call.startswith("apt-get install")]
    assert installed == ["python3-venv", "python3.11-venv"]
    assert said(done)[2] == f"making a virtual environment in {machine.clone}/.venv with Python 3.11"


def test_a_system_without_a_new_enough_python_is_told_so(machine: Machine) -> None:
    """When even the installation does not help, set-up ends with what is needed instead of going on."""
    machine.become(0)
    machine.provide_python("python3", minor=9)
    machine.provide("apt-get", FAKE_APT)

    done = machine.run("run")

    needs = "Posthouse needs tmux and Python 3.11 or newer with venv"
    assert done.returncode == 1
    assert said(done)[-1] == f"still missing after the installation: python3.11-venv. {needs}"


@pytest.mark.ordinary_user
@pytest.mark.needs_host("ordinary user")
def test_a_folder_that_cannot_be_written_is_named(machine: Machine) -> None:
    """A clone on a read-only place says so in one line."""
    machine.clone.chmod(0o555)

    done = machine.run("run")

    message = f"cannot write to {machine.clone}; Posthouse keeps its environment and state there"
    assert (done.returncode, said(done)[-1]) == (1, message)


def test_test_runs_every_stage_and_adds_up(machine: Machine) -> None:
    """A stage that fails does not hide the next, and the last line counts what all pytest runs did."""
    done = machine.run("test", FAILING="mypy")

    lines = done.stdout.splitlines()
    closing = lines[lines.index("== summary") + 1 :]
    cores = os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0))
    *calls, leftovers = machine.calls()[-6:]
    assert calls == [
        "ruff check",
        "ruff format --check",
        "mypy",
        f"pytest -n {cores + 1} --dist worksteal -m not serial",
        "pytest -m serial",
    ]
    temporary, homes = leftovers.removeprefix("posthouse.testing.leftovers ").split()
    assert [Path(folder).exists() for folder in (temporary, homes)] == [False, False]
    assert closing == [
        "failed: mypy",
        "4 skipped: needs root",
        "0 of at most 3 second tries",
        "6 passed, 0 failed, 4 skipped",
    ]
    assert done.returncode == 1


def test_what_tests_leave_behind_is_a_failure(machine: Machine) -> None:
    """The stage is named, and the last line counts it."""
    done = machine.run("test", FAILING="posthouse.testing.leftovers")

    assert done.stdout.splitlines()[-4:] == [
        "failed: nothing left behind",
        "4 skipped: needs root",
        "0 of at most 3 second tries",
        "6 passed, 1 failed, 4 skipped",
    ]
    assert done.returncode == 1


def test_test_has_a_part_for_an_ordinary_user(machine: Machine) -> None:
    """It runs what may go otherwise without root's rights, which is what root's own run asks for."""
    machine.run("test", "--ordinary-user")

    assert [re.sub(r"-n \d+", "-n N", call) for call in machine.calls()[-3:-1]] == [
        "pytest -n N --dist worksteal -m not serial and ordinary_user tests/acceptance",
        "pytest -m serial and ordinary_user tests/acceptance",
    ]
    assert "./test --ordinary-user" in (ROOT / "test").read_text().partition("run_in_copy() {")[2]


def test_test_passes_its_words_to_pytest(machine: Machine) -> None:
    """With arguments `./test` is pytest in the set-up environment, and nothing else."""
    machine.run("test", "tests/unit", "-k", "lock", POSTHOUSE_TALLY="/dev/null")

    assert machine.calls()[-1] == "pytest tests/unit -k lock"
