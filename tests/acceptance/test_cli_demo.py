"""The demo that `./run` starts."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
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
        # The usual port is for people; tests run beside each other.
        posthouse.environment["HOUMAO_PASSIVE_SERVER_PORT"] = "0"
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
    """Two agents answer while it runs, by name and through the server; Ctrl-C stops everything."""
    process, table = demo.up()
    alive = demo.health()
    port = table["server"].rpartition(":")[2]
    answers = [
        demo.posthouse.ok("agents", "prompt", one["agent_name"], "--wait", "[[say hi]]")
        for one in table["agents"]
    ]
    through_server = demo.posthouse.ok(
        "agents", "prompt", "demo-headless", "--wait", "[[say hi from there]]", "--port", port
    )
    served = demo.posthouse.json("agents", "list", "--port", port)["agents"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_SECONDS)

    assert [(one["agent_name"], one["transport"]) for one in table["agents"]] == [
        ("demo-tui", "tui"),
        ("demo-headless", "headless"),
    ]
    assert all(one["gateway"] for one in table["agents"])
    assert answers == ["hi\n", "hi\n"]
    assert through_server == "hi from there\n"
    assert [one["agent_name"] for one in served] == ["demo-headless", "demo-tui"]
    assert demo.posthouse.run("agents", "list", "--port", port).returncode == 1
    assert alive == _ALIVE
    assert process.returncode == 0
    assert demo.health() == _STOPPED
    assert demo.posthouse.tmux("list-sessions") == ""


def test_started_twice_it_says_so_and_what_it_says_works(demo: Demo) -> None:
    """The second start changes nothing and tells what to try, as a person would type it."""
    process, _ = demo.up()

    second = demo.posthouse.run("demo", "up")
    curl = _curl(demo.posthouse, _printed_curl(second.stdout))
    sent = demo.posthouse.json(*_MAIL)
    (got,) = demo.posthouse.json("agents", "mail", "list", "demo-headless")["messages"]
    down = demo.posthouse.ok("demo", "down")
    process.communicate(timeout=LIMIT_SECONDS)
    again = demo.posthouse.ok("demo", "down")

    assert second.returncode == 0
    assert second.stderr == (
        f"the demo is already running (process {process.pid}); stop it with `./run down`\n"
    )
    assert f"  ./run {shlex.join(_MAIL)}\n" in second.stdout
    assert "  ./run agents prompt demo-tui --wait 'hello [[say hi there]]'\n" in second.stdout
    assert curl.stdout == '"answer":"hi there"\n', curl.stderr
    assert got["message_ref"] == sent["message"]["message_ref"]
    assert (got["sender"]["address"], got["unread"]) == ("demo-tui@houmao.localhost", True)
    assert (down, again) == ("the demo is stopped\n", "the demo was not running\n")
    assert process.returncode == 0
    assert demo.health() == _STOPPED


_MAIL = (
    *("agents", "mail", "send", "demo-tui", "--to", "demo-headless@houmao.localhost"),
    *("--subject", "hello", "--body-content", "any news?"),
)
#: For machines without curl: what the printed line needs of it.
_STAND_IN = """#!{python}
import sys, urllib.request
words = sys.argv[1:]
data = words[words.index("-d") + 1].encode() if "-d" in words else None
url = next(word for word in words if word.startswith("http"))
request = urllib.request.Request(url, data, {{"content-type": "application/json"}})
sys.stdout.buffer.write(urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request).read())
"""


def _curl(posthouse: "Commands", line: str) -> "subprocess.CompletedProcess[str]":
    """What the shell makes of *line*."""
    folder = posthouse.folder / "bin"
    if shutil.which("curl") is None:
        folder.mkdir()
        (folder / "curl").write_text(_STAND_IN.format(python=sys.executable))
        (folder / "curl").chmod(0o755)
    environment = posthouse.environment | {"PATH": f"{folder}:{posthouse.environment['PATH']}"}
    return subprocess.run(
        ["sh", "-c", line],
        text=True,
        capture_output=True,
        env=environment,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def _printed_curl(text: str) -> str:
    """The lines for the shell, as they were printed."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("  url="))
    end = lines.index("", start)
    return "\n".join(lines[start:end])


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
