"""How set-up comes by the agent CLIs, on a machine whose npm and pip note what they were asked.

`./test` itself shows the real thing: it has installed the CLIs that the tests run.
"""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from posthouse.testing import clis
from posthouse.testing.waiting import LIMIT_SECONDS

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests/data/scripts"
BARE_SYSTEM = "bash cat chmod cp env flock mkdir mv rm sha256sum sleep tail touch"
PROVIDE = (
    'set -euo pipefail; root=$CLONE; source "$root/scripts/setup.sh"; source "$root/scripts/agent_clis.sh"'
)

CI = (
    "npm ci --include=optional --ignore-scripts --no-audit --no-fund --no-progress "
    "--fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000"
)
INSTALL = [CI, "npm rebuild --ignore-scripts=false --no-progress @anthropic-ai/claude-code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A folder that is all there is on PATH, this clone's scripts, and an environment that is set up."""

    folder: Path

    def provide_node(self, version: str) -> None:
        self._write("bin/node", f"#!/bin/bash\necho v{version}\n")

    def provide_npm(self) -> None:
        self._write("bin/npm", (FAKES / "fake_npm.sh").read_text())

    def remove(self, command: str) -> None:
        (self.folder / "bin" / command).unlink()

    def set(self, condition: str) -> None:
        (self.folder / condition).touch()

    def unset(self, condition: str) -> None:
        (self.folder / condition).unlink()

    def calls(self) -> list[str]:
        """What was asked of npm and pip since the last look."""
        noted = self.folder / "calls"
        lines = noted.read_text().splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return lines

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": str(self.folder / "bin"),
            "MACHINE": str(self.folder),
            "CLONE": str(self.folder / "clone"),
            "HOME": str(self.folder / "home"),
        }

    def start(self, words: str = "provide_agent_clis", **environment: str) -> subprocess.Popen[str]:
        """Begin to provide the CLIs, then print where they are."""
        return subprocess.Popen(
            ["/bin/bash", "-c", f'{PROVIDE}; {words}; echo "$POSTHOUSE_AGENT_CLIS"'],
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, words: str = "provide_agent_clis", **environment: str) -> tuple[int, Path, list[str]]:
        """Provide the CLIs; the exit code, where they are, and what was said."""
        process = self.start(words, **environment)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        said = [re.sub(r"\d+ s$", "N s", line.removeprefix("posthouse: ")) for line in err.splitlines()]
        return process.returncode, Path(out.strip()), said

    def _write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with a Node that is new enough, and its npm."""
    machine = Machine(folder=tmp_path)
    for folder in ("bin", "home", "clone/.venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "clone/scripts").symlink_to(ROOT / "scripts")
    for command in BARE_SYSTEM.split():
        found = shutil.which(command, path="/usr/bin:/bin")
        assert found is not None, command
        (tmp_path / "bin" / command).symlink_to(found)
    shutil.copy(FAKES / "fake_npm.sh", tmp_path)
    (tmp_path / "fake_npm.sh").chmod(0o755)
    shutil.copy(FAKES / "fake_node_wheel.sh", tmp_path / "clone/.venv/bin/python")
    (tmp_path / "clone/.venv/bin/python").chmod(0o755)
    machine.provide_node("20.1.0")
    machine.provide_npm()
    return machine


def installing(folder: Path) -> str:
    return f"installing the agent CLIs once, about 770 MB, in {folder}"


@pytest.mark.ordinary_user
def test_the_first_start_installs_and_the_second_says_nothing(machine: Machine) -> None:
    """The CLIs are installed once, outside the clone, where the tests look for them."""
    first = machine.run()
    first_calls = machine.calls()
    second = machine.run()

    folder = clis.folder(machine.environment)
    assert folder.is_relative_to(machine.folder / "home/.cache/posthouse")
    assert (first, first_calls) == ((0, folder, [installing(folder), "installed in N s"]), INSTALL)
    assert (second, machine.calls()) == ((0, folder, []), [])


@pytest.mark.parametrize("variable", ["POSTHOUSE_CACHE", "XDG_CACHE_HOME"])
def test_the_cache_can_be_elsewhere(machine: Machine, variable: str) -> None:
    """Both variables move it, for set-up and for the tests alike."""
    elsewhere = machine.folder / "else where"

    _, folder, _ = machine.run(**{variable: str(elsewhere)})

    assert folder.is_relative_to(elsewhere)
    assert clis.folder(machine.environment | {variable: str(elsewhere)}) == folder


def test_a_folder_that_was_named_is_taken_as_it_is(machine: Machine) -> None:
    """With POSTHOUSE_AGENT_CLIS set, nothing is installed or looked for."""
    done = machine.run(POSTHOUSE_AGENT_CLIS="/srv/clis")

    assert (done, machine.calls()) == ((0, Path("/srv/clis"), []), [])


@pytest.mark.ordinary_user
@pytest.mark.parametrize("home", ["", "/proc/home"], ids=["no home", "one that cannot be written"])
def test_without_a_place_the_way_out_is_named(machine: Machine, home: str) -> None:
    """Where there is no cache to write to, set-up says how to name one, and the other tests still run."""
    code, folder, said = machine.run(HOME=home)

    assert (code, said) == (
        0,
        [
            f"cannot keep the agent CLIs in {folder.parent}: name a folder for them in POSTHOUSE_CACHE",
            "tests that need the agent CLIs will fail",
        ],
    )


def test_a_registry_out_of_reach_is_named_and_the_next_start_tries_again(machine: Machine) -> None:
    """Without a network there are npm's words, the registry without its password, and no half of a folder."""
    machine.set("no-network")
    code, folder, said = machine.run()
    was_there = folder.exists()
    machine.calls()
    machine.unset("no-network")
    again = machine.run()

    log = machine.folder / "clone/.venv/set-up.log"
    reason = f"npm asked http://registry.invalid/; the whole log is in {log}"
    assert (code, was_there) == (0, False)
    assert said == [
        installing(folder),
        "npm error no route to host",
        f"could not install the agent CLIs; {reason}",
        "tests that need the agent CLIs will fail",
    ]
    assert (again[0], machine.calls()) == (0, INSTALL)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_installation_starts_over(machine: Machine, by: signal.Signals) -> None:
    """Ended in the middle, by Ctrl-C or the hard way, it leaves nothing that the next start trusts."""
    machine.set("hold")
    process = machine.start()
    read_until(process, "installing")
    os.killpg(process.pid, by)
    process.communicate(timeout=LIMIT_SECONDS)
    machine.calls()
    machine.unset("hold")

    code, folder, said = machine.run()

    assert process.returncode != 0
    assert (code, said) == (0, [installing(folder), "installed in N s"])
    assert machine.calls() == INSTALL


def test_of_two_at_once_one_installs_and_one_waits(machine: Machine) -> None:
    """The second says that it waits, and then finds everything done."""
    machine.set("hold")
    first = machine.start()
    read_until(first, "installing")
    second = machine.start()
    read_until(second, "another set-up is installing the agent CLIs")
    machine.set("go")

    folders = {process.communicate(timeout=LIMIT_SECONDS)[0].strip() for process in (first, second)}

    assert folders == {str(clis.folder(machine.environment))}
    assert machine.calls() == INSTALL


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"it never said {words!r}")


@pytest.mark.parametrize("lack", ["an older node", "no node", "no npm"])
def test_a_machine_without_a_fitting_node_gets_one(machine: Machine, lack: str) -> None:
    """Node comes from a pinned wheel, runs npm, and is found on the PATH for the CLIs."""
    match lack:
        case "an older node":
            machine.provide_node("18.20.4")
        case "no node":
            machine.remove("node")
        case "no npm":
            machine.remove("npm")

    _, folder, _ = machine.run()

    pinned = f"pip install {machine.folder}/clone/scripts/agent-clis/node.lock"
    assert machine.calls() == [pinned, *INSTALL]
    assert shutil.which("node", path=clis.search_path(folder, "/nowhere")) == str(folder / "node/bin/node")


def test_a_node_that_went_away_is_replaced(machine: Machine) -> None:
    """CLIs that were installed with the system's Node get one of their own once that is gone."""
    machine.run()
    machine.calls()
    machine.remove("node")

    machine.run()

    assert machine.calls() == [f"pip install {machine.folder}/clone/scripts/agent-clis/node.lock"]


@pytest.mark.ordinary_user
def test_others_may_read_what_is_shared_with_them(machine: Machine) -> None:
    """Shared CLIs take no second room on the disk, and are readable whatever the owner's umask is."""
    shared = machine.folder / "shared"

    machine.run(f'umask 077; provide_agent_clis; share_agent_clis "{shared}"')

    original, copied = (
        (place / "node_modules/.bin/claude").stat() for place in (clis.folder(machine.environment), shared)
    )
    assert copied.st_ino == original.st_ino
    assert [path for path in [shared, *shared.rglob("*")] if not path.stat().st_mode & 0o004] == []


def test_the_pins_name_versions_and_no_place() -> None:
    """Each CLI has an exact version; the locks have a hash per package, and no address."""
    pins = ROOT / "scripts/agent-clis"
    locks = [(pins / name).read_text() for name in ("package-lock.json", "node.lock")]

    assert [text.count("://") for text in locks] == [0, 0]
    assert locks[0].count('"node_modules/') == locks[0].count('"integrity"')
    assert re.findall(r'"(@.*)": "([\d.]+)"', (pins / "package.json").read_text()) == [
        ("@anthropic-ai/claude-code", "2.1.197"),
        ("@google/gemini-cli", "0.61.0"),
        ("@openai/codex", "0.166.0"),
    ]
