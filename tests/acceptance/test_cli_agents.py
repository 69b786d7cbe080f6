"""The life of agents through the command line."""

import hashlib
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posthouse import __version__
from posthouse.support import locks
from posthouse.terminal.client import Server, Tmux
from posthouse.testing.blocking_agent import Gate
from posthouse.testing.searching import files_with
from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands


def _launch(posthouse: "Commands", name: str, *more: str) -> Any:
    return posthouse.json("agents", "launch", "--tool", "scripted", "--name", name, *more)


@pytest.mark.ordinary_user
def test_the_life_of_a_headless_agent(posthouse: "Commands") -> None:
    """Launched, listed, asked, looked at, stopped, started again: with its conversation kept."""
    launched = _launch(posthouse, "one", "--headless")
    listed = posthouse.json("agents", "list")["agents"]
    answer = posthouse.ok("agents", "prompt", "one", "--wait", "hello [[say hi there]]")
    turn = posthouse.json("agents", "turn", "status", "one", "last")
    last = posthouse.json("agents", "last", "one")
    state = posthouse.json("agents", "state", "one")
    stdout = posthouse.ok("agents", "turn", "stdout", "one", turn["turn_id"])
    stopped = posthouse.ok("agents", "stop", "one")
    gone = posthouse.json("agents", "list")["agents"]
    posthouse.ok("agents", "relaunch", "one", "--chat-session-mode", "tool_last_or_new")
    recalled = posthouse.ok("agents", "prompt", "one", "--wait", "[[recall]]")

    assert (launched["status"], launched["backend"]) == ("launched", "claude_headless")
    assert [(one["agent_name"], one["health"], one["gateway"]) for one in listed] == [
        ("one", "healthy", launched["gateway"])
    ]
    assert answer == "hi there\n"
    assert (turn["status"], turn["history_summary"], turn["error"]) == ("completed", "hi there", None)
    assert (last["prompt"], last["answer"], last["outcome"]) == (
        "hello [[say hi there]]",
        "hi there",
        "completed",
    )
    assert (state["turn"]["phase"], state["last_turn"]["result"]) == ("ready", "success")
    assert json.loads(stdout.splitlines()[-1])["type"] == "result"
    assert stopped == "stopped one; start it again with `posthouse agents relaunch one`\n"
    assert gone == []
    assert "hello [[say hi there]]" in recalled
    assert posthouse.tmux("list-sessions", "-F", "#{session_name}").split() == [launched["tmux_session_name"]]


@pytest.mark.ordinary_user
def test_the_life_of_a_tui_agent(posthouse: "Commands") -> None:
    """A prompt is typed, and the answer comes from the agent's own transcript."""
    launched = _launch(posthouse, "two")
    answer = posthouse.ok("agents", "prompt", "two", "--wait", "hello [[say hi there]]")
    state = posthouse.json("agents", "state", "two")
    attach = posthouse.json("agents", "attach", "two")["command"]
    detached = posthouse.ok("agents", "gateway", "detach", "two")
    direct = posthouse.ok("agents", "prompt", "two", "--wait", "[[say still here]]")
    posthouse.ok("agents", "stop", "two")

    assert answer == "hi there\n"
    assert (state["turn"]["phase"], state["last_turn"]["result"]) == ("ready", "success")
    assert attach[-3:] == ["attach-session", "-t", f"={launched['tmux_session_name']}"]
    assert detached == "gateway of two stopped\n"
    assert direct == "still here\n"
    assert posthouse.tmux("list-sessions") == ""


def test_the_exit_code_tells_the_outcome(posthouse: "Commands") -> None:
    """0 answered, 10 failed, 124 timed out, 11 interrupted: scripts need no parsing."""
    _launch(posthouse, "one", "--headless")

    ok = posthouse.run("agents", "prompt", "one", "--wait", stdin="[[say from stdin]]")
    failed = posthouse.run("agents", "prompt", "one", "--wait", "--json", "[[fail 400]]")
    timed_out = posthouse.run("agents", "prompt", "one", "--wait", "--timeout", "5", "[[wait 60]]")
    posthouse.ok("agents", "interrupt", "one")
    _wait_ready(posthouse, "one")
    waiting = posthouse.start("agents", "prompt", "one", "--wait", "[[wait 60]]")
    _wait_phase(posthouse, "one", "active")
    interrupt = posthouse.json("agents", "interrupt", "one")
    waiting.communicate(timeout=LIMIT_SECONDS)

    assert (ok.returncode, ok.stdout) == (0, "from stdin\n")
    assert (failed.returncode, json.loads(failed.stdout)["outcome"]) == (10, "failed")
    assert (timed_out.returncode, timed_out.stderr) == (
        124,
        "one: timed out: the turn is still running\n",
    )
    assert interrupt["disposition"] == "accepted"
    assert waiting.returncode == 11
    assert posthouse.json("agents", "interrupt", "one")["disposition"] == "no_op"


def test_without_a_gateway_a_headless_prompt_is_carried_out_from_here(posthouse: "Commands") -> None:
    """--no-gateway changes nothing for the person who asks; --follow shows the turn as it goes."""
    _launch(posthouse, "one", "--headless", "--no-gateway")

    first = posthouse.ok("agents", "prompt", "one", "--follow", "first [[tool echo 42]] [[say done]]")
    second = posthouse.ok("agents", "prompt", "one", "--wait", "[[recall]]")

    assert first.splitlines()[:3] == ["> Bash(echo 42)", "< success: 42", "done"]
    assert "first [[tool echo 42]]" in second
    assert posthouse.json("agents", "gateway", "status", "one")["gateway_health"] == "not_attached"


def test_a_name_that_is_taken_is_explained_and_nothing_is_touched(posthouse: "Commands") -> None:
    """Launching over an agent needs --replace; until then it goes on undisturbed."""
    first = _launch(posthouse, "one", "--headless", "--no-gateway")

    refused = posthouse.run("agents", "launch", "--tool", "scripted", "--name", "one")
    after = posthouse.json("agents", "list")["agents"]
    replaced = _launch(posthouse, "one", "--headless", "--no-gateway", "--replace")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"error: agent 'one' already exists (scripted, healthy, id {first['agent_id']}); "
        "nothing was changed. Start it again with `posthouse agents relaunch one`, "
        "or replace it by adding --replace\n"
    )
    assert [one["manifest_path"] for one in after] == [first["manifest_path"]]
    assert replaced["manifest_path"] != first["manifest_path"]
    assert posthouse.tmux("list-sessions", "-F", "#{session_name}").split() == [replaced["tmux_session_name"]]


def test_an_ambiguous_name_lists_the_exact_commands(posthouse: "Commands") -> None:
    """Two agents may share a name; each of the listed commands names one of them, and works."""
    for agent_id in ("aa", "bb"):
        _launch(posthouse, "twin", "--headless", "--no-gateway", "--agent-id", agent_id)

    refused = posthouse.run("agents", "stop", "twin")
    commands = [line.strip() for line in refused.stderr.splitlines()[1:]]

    assert refused.returncode == 1
    assert refused.stderr.splitlines()[0] == "error: 2 agents are called 'twin'; choose one by its id:"
    assert commands == [f"posthouse agents single --agent-id {agent_id} stop" for agent_id in ("aa", "bb")]
    posthouse.ok(*commands[0].split()[1:])
    assert [one["agent_id"] for one in posthouse.json("agents", "list")["agents"]] == ["bb"]


def test_every_scope_finds_the_same_agent(posthouse: "Commands") -> None:
    """Short form by name or id, `single` by either selector, and `self` inside the agent's own session."""
    launched = _launch(posthouse, "one", "--headless", "--no-gateway")
    seen = posthouse.folder / "seen.json"
    asking = " ".join(posthouse.argv("agents", "self", "identity", "--json"))
    command = f"{asking} > {seen}.part; mv {seen}.part {seen}"
    posthouse.tmux("new-window", "-d", "-t", f"={launched['tmux_session_name']}:", "sh", "-c", command)
    forms = [
        ("agents", "state", "one"),
        ("agents", "state", launched["agent_id"]),
        ("agents", "state", "HOUMAO-one"),
        ("agents", "single", "--agent-name", "one", "state"),
        ("agents", "single", "--agent-id", launched["agent_id"], "state"),
        ("agents", "state", "--agent-name", "one"),
    ]
    identities = [posthouse.json(*form)["identity"] for form in forms]
    _wait_for(seen.exists)

    assert identities == [identities[0]] * len(forms)
    assert json.loads(seen.read_text()) == identities[0]
    assert posthouse.run("agents", "self", "state").returncode == 1
    assert posthouse.run("agents", "self", "stop").returncode == 2


@pytest.mark.parametrize("kind", [["--headless"], ["--headless", "--no-gateway"]], ids=["gateway", "none"])
def test_an_agent_calls_us_by_name(posthouse: "Commands", kind: list[str]) -> None:
    """Wherever we are installed, the programs an agent runs find us and themselves."""
    elsewhere = {"PATH": "/usr/bin:/bin"}
    launch = ["agents", "launch", "--tool", "scripted", "--name", "one", *kind]
    posthouse.ok(*launch, more=elsewhere)

    asked = "[[tool posthouse --version]] [[tool houmao-mgr agents self identity]]"
    shown = posthouse.ok("agents", "prompt", "one", "--follow", asked, more=elsewhere)

    told = " ".join(shown.split())
    assert f"< success: posthouse {__version__} >" in told
    assert "< success: agent_name one agent_id" in told


def test_a_frozen_tmux_server_is_named_and_nothing_is_touched(posthouse: "Commands") -> None:
    """Every command says within seconds that tmux does not answer, and afterwards all is as before."""
    launched = _launch(posthouse, "one")
    server = int(posthouse.tmux("display-message", "-p", "#{pid}"))
    reason = f"the tmux server at {posthouse.folder / 'tmux'} did not answer within 5 s"
    os.kill(server, signal.SIGSTOP)
    try:
        verbs = [("prompt", "one", "hi"), ("stop", "one"), ("relaunch", "one"), ("attach", "one")]
        asked = [("agents", *words) for words in verbs]
        with ThreadPoolExecutor() as people:  # all at once: each of them waits
            *refused, listed, doctor = people.map(
                lambda words: posthouse.run(*words), [*asked, ("agents", "list"), ("doctor", "--json")]
            )
    finally:
        os.kill(server, signal.SIGCONT)

    for one in refused:
        assert (one.returncode, one.stdout) == (1, "")
        assert one.stderr.startswith(f"error: agent 'one' can't be reached: {reason}")
    assert (listed.returncode, listed.stderr.startswith(f"one: {reason}")) == (0, True)
    live = json.loads(doctor.stdout)["live"]
    assert (doctor.returncode, live["agents"], live["unknown"]) == (0, 0, 1)
    assert [one["gateway"] for one in posthouse.json("agents", "list")["agents"]] == [launched["gateway"]]
    assert posthouse.ok("agents", "prompt", "one", "--wait", "[[say thawed]]") == "thawed\n"


def test_a_prompt_with_a_key_is_given_once(posthouse: "Commands") -> None:
    """Whoever says it again gets the first one's answer; another prompt under the key is refused."""
    _launch(posthouse, "one", "--headless")
    ask = ("agents", "prompt", "one", "--idempotency-key", "build-17")
    first = posthouse.json(*ask, "[[say hi]]")
    again = posthouse.json(*ask, "--wait", "[[say hi]]")
    other = posthouse.run(*ask, "[[say something else]]")
    direct = ("agents", "gateway", "prompt", "one", "--idempotency-key", "build-18", "[[say ho]]")
    sent = [posthouse.json(*direct), posthouse.json(*direct)]
    listed = posthouse.json("agents", "requests", "list", "one")["requests"]

    assert (again["request_id"], again["outcome"], again["answer"]) == (first["request_id"], "success", "hi")
    assert (other.returncode, "used for another request" in other.stderr) == (1, True)
    assert sent[0] == sent[1]
    assert [one["kind"] for one in listed] == ["control_prompt", "submit_prompt"]


def test_a_key_needs_a_gateway(posthouse: "Commands") -> None:
    """Nobody else would remember it; nothing is asked."""
    _launch(posthouse, "one", "--headless", "--no-gateway")

    refused = posthouse.run("agents", "prompt", "one", "--idempotency-key", "build-17", "hi")

    assert (refused.returncode, "needs a gateway" in refused.stderr) == (1, True)
    assert posthouse.run("agents", "turn", "status", "one", "last").returncode == 1


def test_a_prompt_that_still_waits_is_not_said_to_be_at_work(posthouse: "Commands") -> None:
    """While a person scrolls in the agent's terminal nothing is typed, and the state says why."""
    launched = _launch(posthouse, "one")
    posthouse.tmux("copy-mode", "-t", f"={launched['tmux_session_name']}:0")

    waited = posthouse.run("agents", "prompt", "one", "--wait", "--timeout", "2", "[[say x]]")
    state = posthouse.json("agents", "state", "one")
    posthouse.tmux("send-keys", "-t", f"={launched['tmux_session_name']}:0", "-X", "cancel")
    _wait_for(lambda: posthouse.json("agents", "state", "one")["last_turn"]["result"] == "success")

    assert (waited.returncode, waited.stderr) == (
        124,
        "one: timed out: the request is still queued\n",
    )
    assert state["evidence"].startswith("its terminal is in copy mode")


@pytest.mark.ordinary_user
def test_a_secret_reaches_the_agent_and_nothing_else(posthouse: "Commands") -> None:
    """`--env K` takes the caller's value to the program; it lies in one 0600 file and nowhere else."""
    secret = "s3cr3t-" + hashlib.sha256(str(time.time_ns()).encode()).hexdigest()
    posthouse.ok(
        "agents",
        "launch",
        "--tool",
        "scripted",
        "--name",
        "one",
        "--headless",
        "--env",
        "TOKEN",
        more={"TOKEN": secret},
    )
    posthouse.ok("agents", "prompt", "one", "--wait", "[[say x]]")
    answer = posthouse.ok("agents", "prompt", "one", "--wait", "[[secret TOKEN]]")
    holders = files_with(posthouse.folder, secret.encode())

    assert hashlib.sha256(secret.encode()).hexdigest()[:8] in answer
    assert [(path.name, path.stat().st_mode & 0o777) for path in holders] == [("launch-env.json", 0o600)]
    assert secret not in _command_lines()
    assert secret not in posthouse.tmux("show-environment", "-g")


def test_agents_that_a_reboot_took_come_back(posthouse: "Commands") -> None:
    """With the tmux server gone, list says so, cleanup or relaunch --all puts it right."""
    for name in ("one", "two"):
        _launch(posthouse, name, "--headless", "--no-gateway")
    posthouse.tmux("kill-server")
    lost = posthouse.json("agents", "list")["agents"]

    back = posthouse.json("agents", "relaunch", "--all", "--no-gateway")
    alive = posthouse.json("agents", "list")["agents"]
    posthouse.tmux("kill-server")
    cleaned = posthouse.json("agents", "cleanup", "--purge")["cleaned"]

    assert [one["health"] for one in lost] == ["stale_missing_session"] * 2
    assert [one["agent_name"] for one in back["relaunched"]] == ["one", "two"]
    assert back["failed"] == []
    assert [one["health"] for one in alive] == ["healthy"] * 2
    assert [one["action"] for one in cleaned] == ["marked stopped: its tmux session was gone"] * 2
    assert posthouse.json("agents", "list")["agents"] == []


def test_a_prompt_for_a_stopped_agent_says_how_to_start_it(posthouse: "Commands") -> None:
    """Nothing is queued for an agent that is not there."""
    _launch(posthouse, "one", "--headless", "--no-gateway")
    posthouse.ok("agents", "stop", "one")

    done = posthouse.run("agents", "prompt", "one", "hello")

    assert done.returncode == 1
    assert done.stderr == (
        "error: agent 'one' is not running (stopped by user); "
        "start it again with `posthouse agents relaunch one`\n"
    )


def test_a_legacy_backend_is_shown_and_refused(posthouse: "Commands") -> None:
    """An agent of a retired backend is listed and described; whatever would drive it says what to do."""
    launched = _launch(posthouse, "old", "--headless", "--no-gateway")
    _make_legacy(posthouse, launched)

    listed = posthouse.json("agents", "list")["agents"]
    state = posthouse.json("agents", "state", "old")
    verbs = [("prompt", "old", "hi"), ("interrupt", "old"), ("stop", "old"), ("relaunch", "old")]
    refused = [posthouse.run("agents", *words) for words in verbs]
    attach = posthouse.run("agents", "attach", "old")
    posthouse.tmux("kill-server")

    assert [(one["agent_name"], one["backend"]) for one in listed] == [("old", "codex_app_server")]
    words = "backend codex_app_server is only shown, never driven"
    assert (state["turn"]["phase"], state["evidence"]) == ("unknown", words)
    assert [one.stderr for one in refused] == [f"error: {words}: start a new session\n"] * len(verbs)
    assert attach.stderr == "error: agent 'old' has no terminal: its backend is codex_app_server\n"


def _make_legacy(posthouse: "Commands", launched: Any) -> None:
    """Turn a session's files into those of the one retired backend that had no tmux session."""
    path = Path(launched["manifest_path"])
    manifest = json.loads(path.read_bytes())
    manifest["backend"] = manifest["launch_plan"]["backend"] = "codex_app_server"
    tmux = ("agent_name", "agent_id", "tmux_session_name", "tmux", "interactive", "headless")
    manifest |= dict.fromkeys((*tmux, "agent_launch_authority", "gateway_authority"))
    manifest["codex"] = {"thread_id": None, "turn_index": 0}
    path.write_text(json.dumps(manifest))
    record_path = posthouse.folder / "registry" / "live_agents" / launched["agent_id"] / "record.json"
    record = json.loads(record_path.read_bytes())
    record["identity"]["backend"] = "codex_app_server"
    record_path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    "words", [["agents", "turn", "status", "two", "last"], ["agents", "turn", "submit", "two", "x"]]
)
def test_turns_are_for_headless_agents(posthouse: "Commands", words: list[str]) -> None:
    """A TUI has no turns of its own, and says so."""
    _launch(posthouse, "two", "--no-gateway")

    done = posthouse.run(*words)

    assert done.returncode == 1
    assert done.stderr == "error: agent 'two' has a TUI; turns are for agents launched with --headless\n"


def _wait_ready(posthouse: "Commands", name: str) -> None:
    _wait_phase(posthouse, name, "ready")


def _wait_phase(posthouse: "Commands", name: str, phase: str) -> None:
    _wait_for(lambda: posthouse.json("agents", "state", name)["turn"]["phase"] == phase)


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come true within a minute"
        time.sleep(0.1)


def _command_lines() -> str:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue  # it ended meanwhile
    return "\n".join(lines)


@pytest.mark.ordinary_user
def test_a_gateway_lives_in_a_window_or_by_itself(posthouse: "Commands") -> None:
    """`attach` opens a window beside the agent's, `--background` a process; what was wished is kept."""
    made = _launch(posthouse, "one", "--headless", "--no-gateway")
    root = Path(made["session_root"]) / "gateway"

    in_window = posthouse.json(
        "agents", "gateway", "attach", "one", "--gateway-tui-stability-threshold-seconds", "2.5"
    )
    status = posthouse.json("agents", "gateway", "status", "one")
    again = posthouse.json("agents", "gateway", "attach", "one", "--background")
    detached = posthouse.json("agents", "gateway", "detach", "one")
    by_itself = posthouse.json("agents", "gateway", "attach", "one", "--background")
    wish = json.loads((root / "desired-config.json").read_bytes())

    assert (in_window["status"], in_window["action"]) == ("ok", "gateway_attach")
    assert (status["execution_mode"], status["gateway_tmux_window_index"]) == ("tmux_auxiliary_window", "1")
    assert again["gateway_port"] == in_window["gateway_port"]
    assert (detached["status"], detached["was_attached"]) == ("ok", True)
    assert by_itself["gateway_port"] == in_window["gateway_port"]
    assert wish["desired_execution_mode"] == "detached_process"
    assert wish["desired_tui_tracking_timings"]["stability_threshold_seconds"] == 2.5


def test_what_one_stopped_agent_left_is_removed_by_parts(posthouse: "Commands") -> None:
    """Logs and mail credentials go alone, then all of it; a running agent is left whole."""
    made = posthouse.json("agents", "launch", "--tool", "scripted", "--name", "gpu", "--headless")
    root = Path(made["session_root"])
    (root / "mailbox-secrets").mkdir()
    cleanup = ("agents", "single", "--agent-name", "gpu", "cleanup")
    refused = posthouse.run(*cleanup, "logs")
    posthouse.ok("agents", "stop", "gpu")
    parts = {"logs": [root / "gateway" / "logs" / "gateway.log"], "mailbox": [root / "mailbox-secrets"]}

    assert (refused.returncode, "stop it first" in refused.stderr) == (1, True)
    assert posthouse.json(*cleanup, "session", "--dry-run")["removed"] == [str(root)]
    for part, paths in (*parts.items(), ("session", [root])):
        assert all(path.exists() for path in paths)
        assert posthouse.json(*cleanup, part)["removed"] == [str(path) for path in paths]
        assert not any(path.exists() for path in paths)
    assert posthouse.json("agents", "list", "--state", "all")["agents"] == []


def test_two_callers_with_equal_prompts_get_an_answer_each(posthouse: "Commands") -> None:
    """Waiting is for one request: what was answered to an equal prompt of another caller does not count."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one")
    _wait_ready(posthouse, "one")
    posthouse.ok("agents", "prompt", "one", "--wait", "first [[say hi]]")

    ask = ("agents", "prompt", "one", "--wait", "[[wait 1]] [[recall]]")
    first = posthouse.start(*ask)
    # Held up until the second caller has its answer, so that the newest equal prompt is not its own.
    _wait_for(lambda: len(posthouse.json("agents", "requests", "list", "one")["requests"]) == 2)
    os.kill(first.pid, signal.SIGSTOP)
    second = posthouse.ok(*ask)
    os.kill(first.pid, signal.SIGCONT)
    answer, _ = first.communicate(timeout=LIMIT_SECONDS)

    assert (first.returncode, answer.count("[[recall]]"), second.count("[[recall]]")) == (0, 0, 1)


def test_waiting_ends_when_the_program_of_a_tui_dies(posthouse: "Commands") -> None:
    """What became of the prompt is unknown, and that is the answer."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one")
    _wait_ready(posthouse, "one")

    died = posthouse.run("agents", "prompt", "one", "--wait", "[[wait 1]] [[crash]]")

    assert died.returncode == 12
    assert "one: unknown" in died.stderr


def test_a_record_with_open_rights_is_named_and_kept(posthouse: "Commands") -> None:
    """The list says what to do, nothing takes its name, and clean-up does not remove it."""
    _launch(posthouse, "one", "--headless")
    [record] = posthouse.folder.glob("registry/live_agents/*/record.json")
    record.chmod(0o646)
    wanted = f"{record} can be written by other users; run: chmod go-w {record}"

    listed = posthouse.run("agents", "list")
    again = posthouse.run("agents", "launch", "--tool", "scripted", "--name", "one", "--headless")
    posthouse.ok("agents", "cleanup")
    record.chmod(0o600)

    assert wanted in listed.stderr
    assert (again.returncode != 0, wanted in again.stderr) == (True, True)
    assert [one["agent_name"] for one in posthouse.json("agents", "list")["agents"]] == ["one"]


def test_without_a_gateway_two_callers_with_equal_prompts_get_an_answer_each(posthouse: "Commands") -> None:
    """The answer is that of the exchange that this caller began, also when a newer equal one has ended."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--no-gateway")
    _wait_ready(posthouse, "one")
    posthouse.ok("agents", "prompt", "one", "--wait", "first [[say hi]]")

    gate = Gate(posthouse.folder)
    ask = ("agents", "prompt", "one", "--wait", f"{gate.closed} [[recall]]")
    first = posthouse.start(*ask)
    _wait_phase(posthouse, "one", "active")
    _wait_for(lambda: not _is_typed_into(posthouse))
    # Held up until the second caller has its answer, so that the newest equal prompt is not its own.
    os.kill(first.pid, signal.SIGSTOP)
    gate.open()
    second = posthouse.ok(*ask)
    os.kill(first.pid, signal.SIGCONT)
    answer, _ = first.communicate(timeout=LIMIT_SECONDS)

    assert (first.returncode, answer.count("[[recall]]"), second.count("[[recall]]")) == (0, 0, 1)


def _is_typed_into(posthouse: "Commands") -> bool:
    [lock] = posthouse.folder.rglob("pane.lock")
    try:
        with locks.hold(lock):
            return False
    except locks.LockHeld:
        return True


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSEGV", "3"])
def test_without_a_gateway_waiting_ends_when_the_program_of_a_tui_dies(
    posthouse: "Commands", how: str
) -> None:
    """What became of the prompt is unknown, and how the program ended is the reason."""
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "one", "--no-gateway")
    _wait_ready(posthouse, "one")

    died = posthouse.run("agents", "prompt", "one", "--wait", f"[[wait 1]] [[crash {how}]]")

    number = {"SIGKILL": "by signal 9", "SIGSEGV": "by signal 11", "3": "with exit code 3"}[how]
    assert (died.returncode, died.stdout) == (12, "")
    assert died.stderr == f"one: unknown: the agent's program ended {number}\n"


def test_agents_on_tmux_servers_of_their_own(posthouse: "Commands", monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command finds each agent on its own server, and a server that dies takes one agent with it."""
    posthouse.environment["TMUX_TMPDIR"] = str(posthouse.folder)
    monkeypatch.setenv("TMUX_TMPDIR", str(posthouse.folder))  # the fixture stops agents from here
    launch = ("agents", "launch", "--tool", "scripted", "--name")
    for name in ("one", "two"):
        posthouse.ok(*launch, name, more={"POSTHOUSE_TMUX_SOCKET": "per-agent"})
    one, two = posthouse.json("agents", "list")["agents"]
    tmux = Tmux(Server(one["tmux_socket"]))

    _wait_ready(posthouse, "two")
    inside = posthouse.folder / "inside"
    posthouse.ok("agents", "prompt", "two", "--wait", f"[[tool posthouse agents self identity > {inside}]]")
    os.kill(int(tmux.run("display-message", "-p", "#{pid}")), signal.SIGKILL)
    _wait_for(lambda: _healths(posthouse) == {"one": "stale_missing_session", "two": "healthy"})
    answer = posthouse.ok("agents", "prompt", "two", "--wait", "[[say still here]]")
    posthouse.ok("agents", "relaunch", "--all")
    _wait_ready(posthouse, "one")
    back = posthouse.ok("agents", "prompt", "one", "--wait", "[[say back]]")
    for name in ("one", "two"):
        posthouse.ok("agents", "stop", name)

    assert (one["agent_name"], one["tmux_socket"] != two["tmux_socket"]) == ("one", True)
    assert (answer, back) == ("still here\n", "back\n")
    assert inside.read_text().split()[:2] == ["agent_name", "two"]
    assert list(posthouse.folder.rglob("posthouse-agent-*")) == []


def _healths(posthouse: "Commands") -> dict[str, str]:
    return {one["agent_name"]: one["health"] for one in posthouse.json("agents", "list")["agents"]}
