"""The demo that `./run` starts."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands


@pytest.fixture
def demo(posthouse: "Commands") -> Iterator["Demo"]:
    """The demo in a home of its own, down when the test is."""
    made = Demo(posthouse)
    yield made
    for process in made.started:
        process.kill()
        process.communicate()


class Demo:
    """Starts `demo up` processes and reads what they show."""

    def __init__(self, posthouse: "Commands") -> None:
        posthouse.environment["POSTHOUSE_HOME"] = str(posthouse.folder)
        posthouse.environment["POSTHOUSE_PROG"] = "./run"
        self.posthouse = posthouse
        self.started: list[subprocess.Popen[str]] = []

    def up(self) -> tuple["subprocess.Popen[str]", Any]:
        """A foreground demo, once it has shown its table."""
        process = self.posthouse.start("demo", "up", "--json")
        self.started.append(process)
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "}\n":
                return process, json.loads("".join(lines))
        raise AssertionError(f"the demo ended: {''.join(lines)}{process.communicate()[1]}")

    def program(self, agent: Any) -> Any:
        """The process behind an agent; None for a headless one, which has none between turns."""
        return json.loads(Path(agent["manifest_path"]).read_text())["runtime"]["agent_pid"]

    def health(self) -> dict[str, str]:
        agents = self.posthouse.json("agents", "list", "--state", "all")["agents"]
        return {one["agent_name"]: one["health"] for one in agents}


_ALIVE = {"demo-headless": "healthy", "demo-tui": "healthy"}
_STOPPED = {"demo-headless": "stopped", "demo-tui": "stopped"}


@pytest.mark.ordinary_user
def test_the_demo_stays_until_ctrl_c(demo: Demo) -> None:
    """Two agents with gateways answer while it runs; Ctrl-C stops both."""
    process, table = demo.up()
    alive = demo.health()
    answers = [
        demo.posthouse.ok("agents", "prompt", one["agent_name"], "--wait", "[[say hi]]")
        for one in table["agents"]
    ]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_SECONDS)

    assert [(one["agent_name"], one["transport"]) for one in table["agents"]] == [
        ("demo-tui", "tui"),
        ("demo-headless", "headless"),
    ]
    assert all(one["gateway"] for one in table["agents"])
    assert answers == ["hi\n", "hi\n"]
    assert alive == _ALIVE
    assert process.returncode == 0
    assert demo.health() == _STOPPED
    assert demo.posthouse.tmux("list-sessions") == ""


def test_started_twice_it_says_so_and_shows_the_table(demo: Demo) -> None:
    """The second start changes nothing and tells what to try, as a person would type it."""
    process, _ = demo.up()

    second = demo.posthouse.run("demo", "up")
    down = demo.posthouse.ok("demo", "down")
    process.communicate(timeout=LIMIT_SECONDS)
    again = demo.posthouse.ok("demo", "down")

    assert second.returncode == 0
    assert second.stderr == f"the demo runs already (process {process.pid}); stop it with `./run down`\n"
    assert "  ./run agents prompt demo-tui --wait 'hello [[say hi there]]'\n" in second.stdout
    assert (down, again) == ("the demo is stopped\n", "the demo was not running\n")
    assert process.returncode == 0
    assert demo.health() == _STOPPED


def test_what_a_killed_demo_left_is_used_again(demo: Demo) -> None:
    """kill -9 leaves agents behind; the next start takes them over, and reset leaves nothing."""
    first, before = demo.up()
    programs = [demo.program(one) for one in before["agents"]]
    first.kill()
    first.communicate()
    left = demo.health()

    second, after = demo.up()
    programs_after = [demo.program(one) for one in after["agents"]]
    reset = demo.posthouse.run("demo", "reset")
    second.communicate(timeout=LIMIT_SECONDS)

    assert left == _ALIVE
    assert programs_after == programs
    assert [one["manifest_path"] for one in after["agents"]] == [
        one["manifest_path"] for one in before["agents"]
    ]
    assert reset.returncode == 0, reset.stderr
    assert demo.health() == {}
    assert demo.posthouse.tmux("list-sessions") == ""
    assert not (demo.posthouse.folder / "runtime").exists()


def test_the_demo_s_agents_write_to_each_other(demo: Demo) -> None:
    """Both parts of the demo have mailboxes in its own root, and mail goes from one to the other."""
    demo.up()
    posthouse = demo.posthouse
    sent = posthouse.json(
        *("agents", "mail", "send", "demo-tui", "--to", "demo-headless@houmao.localhost"),
        *("--subject", "hello", "--body-content", "from the TUI"),
    )
    (got,) = posthouse.json("agents", "mail", "list", "demo-headless")["messages"]

    assert got["message_ref"] == sent["message"]["message_ref"]
    assert (got["sender"]["address"], got["unread"]) == ("demo-tui@houmao.localhost", True)
