"""Agents launched, found, stopped and started again, on a real tmux server."""

import errno
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from posthouse.errors import Conflict, InvalidInput, NotFound, Unavailable
from posthouse.sessions import cleanup, current, join, session, start
from posthouse.sessions.agents import (
    AgentExists,
    AgentNotFound,
    Agents,
    AmbiguousName,
    LegacyBackend,
)
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.support import files, processes
from posthouse.terminal import client
from posthouse.terminal import session as terminal
from posthouse.terminal.client import Server, Tmux
from posthouse.testing.no_session_hooks import NoSessionHooks
from posthouse.testing.searching import files_with
from posthouse.testing.waiting import LIMIT_SECONDS, wait_for
from posthouse.tools.scripted.profile import TOOL
from posthouse.tools.tool import Program


@pytest.fixture
def agents(tmp_path: Path, tmux_server: Server) -> Agents:
    roots = Roots(registry=tmp_path / "registry", runtime=tmp_path / "runtime", mailbox=tmp_path / "mailbox")
    return Agents(roots, Registry(roots.registry), tmux_server, NoSessionHooks())


@contextmanager
def _impatient() -> Iterator[None]:
    """Have tmux called frozen that does not answer for a moment."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(client, "LIMIT_SECONDS", 0.5)
        yield


def _spec(folder: Path, name: str = "gpu", *, headless: bool = True, **more: object) -> LaunchSpec:
    return LaunchSpec(tool="scripted", name=name, headless=headless, working_directory=folder, **more)  # type: ignore[arg-type]  # a test's short hand


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.01)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_launch_publishes_everything_before_any_attach(agents: Agents, tmp_path: Path) -> None:
    """The session's folder, its record and its tmux variables are there, with an offline status."""
    made = agents.launch(_spec(tmp_path))

    assert _files(made.root) == {
        "manifest.json",
        "manifest.lock",
        "launch-env.json",
        "gateway/attach.json",
        "gateway/desired-config.json",
        "gateway/gateway_manifest.json",
        "gateway/protocol-version.txt",
        "gateway/state.json",
    }
    assert made.root.parent == tmp_path / "runtime" / "sessions" / "claude_headless"
    status = json.loads((made.gateway_root / "state.json").read_bytes())
    assert (status["gateway_health"], "gateway_host" in status) == ("not_attached", False)
    variables = terminal.environment(made.tmux, made.tmux_session_name)
    assert variables["HOUMAO_MANIFEST_PATH"] == str(made.manifest_path)
    assert variables["HOUMAO_AGENT_ID"] == made.agent_id
    assert variables["HOUMAO_TOOL"] == "scripted"
    assert variables["HOUMAO_GLOBAL_REGISTRY_DIR"] == str(tmp_path / "registry")
    pane = terminal.agent_pane(made.tmux, made.tmux_session_name)
    assert made.manifest.tmux is not None
    assert made.manifest.tmux.primary_pane_id == pane.pane_id
    assert (pane.window_index, pane.window_name, pane.columns, pane.rows) == ("0", "agent", 120, 40)
    assert session.read(made.manifest_path) == made
    assert [agent.health for agent in agents.registered()] == ["healthy"]


def test_a_name_in_use_is_left_alone_until_replaced(agents: Agents, tmp_path: Path) -> None:
    """A second launch of the name is refused and touches nothing; replacing ends the first."""
    first = agents.launch(_spec(tmp_path))
    with pytest.raises(AgentExists, match="--replace"):
        agents.launch(_spec(tmp_path))
    assert terminal.exists(first.tmux, first.tmux_session_name)
    assert len(list((tmp_path / "runtime" / "homes").glob("*.definition"))) == 1

    second = agents.launch(_spec(tmp_path), replace_existing=True)

    assert not terminal.exists(first.tmux, first.tmux_session_name)
    assert agents.find(name="gpu").session == second


def test_both_spellings_of_a_name_are_one_agent(agents: Agents, tmp_path: Path) -> None:
    """`gpu` and `HOUMAO-gpu` find the same agent, and so does its id."""
    made = agents.launch(_spec(tmp_path))

    found = [agents.find(name="gpu"), agents.find(name="HOUMAO-gpu"), agents.find(agent_id=made.agent_id)]

    assert [agent.session for agent in found] == [made, made, made]
    with pytest.raises(AgentNotFound, match="there is gpu"):
        agents.find(name="gpus")


def test_a_shared_name_is_ambiguous_and_lists_the_candidates(agents: Agents, tmp_path: Path) -> None:
    """Two agents of one name are told apart by their ids only."""
    first = agents.launch(_spec(tmp_path))
    second = agents.launch(_spec(tmp_path, agent_id="other"))

    with pytest.raises(AmbiguousName) as refused:
        agents.find(name="gpu")

    assert [agent.session for agent in refused.value.candidates] == [first, second]
    assert agents.find(agent_id="other").session == second


def test_stop_ends_the_whole_tree_and_keeps_a_relaunchable_record(agents: Agents, tmp_path: Path) -> None:
    """After a stop no process and no tmux session is left; a second stop is harmless."""
    made = agents.launch(_spec(tmp_path, headless=False))
    pane = terminal.agent_pane(made.tmux, made.tmux_session_name)
    family = processes.tree(pane.pid)
    assert family

    agents.stop(agents.find(name="gpu"))
    agents.stop(agents.find(name="gpu"))

    assert [process for process in family if process.is_alive()] == []
    assert agents.registered() == []
    [stopped] = agents.registered(states=None)
    assert (stopped.health, stopped.record.lifecycle.relaunchable) == ("stopped", True)
    assert stopped.record.liveness is None


def test_relaunch_starts_the_same_session_again(agents: Agents, tmp_path: Path) -> None:
    """A stopped agent comes back with its id, home, generation and values."""
    made = agents.launch(_spec(tmp_path, headless=False, environment={"TOKEN": "t0p"}))
    generation = agents.find(name="gpu").record.generation_id
    agents.stop(agents.find(name="gpu"))

    again = agents.relaunch(agents.find(name="gpu"))

    assert again.root == made.root
    assert agents.find(name="gpu").record.generation_id == generation
    pane = terminal.agent_pane(again.tmux, again.tmux_session_name)
    wait_for(lambda: processes.has_variable(pane.pid, "TOKEN", "t0p"))


@pytest.fixture
def without_cli(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Uninstalls the agent's CLI."""

    def missing(_: object) -> str:
        raise Unavailable("scripted is not installed")

    return lambda: monkeypatch.setattr(type(TOOL), "executable", missing)


@pytest.mark.parametrize("headless", [False, True])
def test_a_stopped_agent_whose_cli_is_missing_stays_stopped(
    agents: Agents, tmp_path: Path, without_cli: Callable[[], None], *, headless: bool
) -> None:
    """The relaunch says so, and leaves no session that would count as alive."""
    agents.launch(_spec(tmp_path, headless=headless))
    agents.stop(agents.find(name="gpu"))
    before = agents.find(name="gpu")
    without_cli()

    with pytest.raises(Unavailable, match="not installed"):
        agents.relaunch(agents.find(name="gpu"))

    assert agents.find(name="gpu") == before
    assert terminal.pane_states(Tmux(agents.server)) == {}


def test_a_live_agent_is_not_ended_for_a_relaunch_that_cannot_be(
    agents: Agents, tmp_path: Path, without_cli: Callable[[], None]
) -> None:
    """What a relaunch needs is checked before anything is ended."""
    made = agents.launch(_spec(tmp_path, headless=False))
    before = agents.find(name="gpu")
    pane = terminal.agent_pane(made.tmux, made.tmux_session_name)
    without_cli()

    with pytest.raises(Unavailable, match="not installed"):
        agents.relaunch(before)

    assert agents.find(name="gpu") == before
    assert terminal.agent_pane(made.tmux, made.tmux_session_name).pid == pane.pid


def test_an_agent_whose_working_directory_is_gone_is_not_ended_for_a_relaunch(
    agents: Agents, tmp_path: Path
) -> None:
    """The folder is named, and the agent goes on."""
    work = tmp_path / "work"
    work.mkdir()
    agents.launch(_spec(work, headless=False))
    before = agents.find(name="gpu")
    work.rmdir()

    with pytest.raises(InvalidInput, match=f"{work} does not exist"):
        agents.relaunch(before)

    assert agents.find(name="gpu") == before


def test_a_relaunch_whose_program_dies_leaves_a_stopped_agent(
    agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the program's last words, and nothing is left that would count as alive."""
    agents.launch(_spec(tmp_path, headless=False))
    monkeypatch.setattr(start, "EARLY_DEATH_SECONDS", LIMIT_SECONDS)  # however long it takes to find out
    monkeypatch.setattr(
        type(TOOL), "tui_program", lambda *_: Program(argv=("/bin/sh", "-c", "echo no such model; exit 4"))
    )

    with pytest.raises(Unavailable, match="no such model"):
        agents.relaunch(agents.find(name="gpu"))

    ended = agents.find(name="gpu")
    assert (ended.health, ended.record.lifecycle.state) == ("stopped", "stopped")
    assert ended.detail == "relaunch failed: scripted ended as soon as it was started: no such model"
    assert terminal.pane_states(Tmux(agents.server)) == {}


def test_after_a_reboot_what_was_active_comes_back(agents: Agents, tmp_path: Path) -> None:
    """Agents whose tmux server died are started again; what the user had stopped stays stopped."""
    agents.launch(_spec(tmp_path, "kept"))
    agents.launch(_spec(tmp_path, "done"))
    agents.stop(agents.find(name="done"))
    Tmux(agents.server).run("kill-server")
    assert [agent.health for agent in agents.registered()] == ["stale_missing_session"]

    results = agents.relaunch_lost()

    assert [result.agent_name for result in results if isinstance(result, Session)] == ["kept"]
    assert [(agent.name, agent.health) for agent in agents.registered()] == [("kept", "healthy")]


def test_a_listing_tells_which_programs_ended(agents: Agents, tmp_path: Path) -> None:
    """A TUI whose program is gone is not called healthy; a headless agent between turns is."""
    made = agents.launch(_spec(tmp_path, "tui", headless=False))
    agents.launch(_spec(tmp_path, "waits"))
    pane = terminal.agent_pane(made.tmux, made.tmux_session_name)
    terminal.start_program(made.tmux, pane, ["false"], environment={}, working_directory=tmp_path)
    _wait(lambda: terminal.agent_pane(made.tmux, made.tmux_session_name).dead)

    listed = {agent.name: (agent.health, agent.detail) for agent in agents.registered()}

    assert listed == {
        "tui": ("degraded_missing_primary", "the program ended"),
        "waits": ("healthy", None),
    }


def test_an_agent_without_its_window_is_found_and_stopped(agents: Agents, tmp_path: Path) -> None:
    """A person who moved window 0 away has an agent that says so, and can be ended."""
    made = agents.launch(_spec(tmp_path, headless=False))
    session_name = made.tmux_session_name
    made.tmux.run("move-window", "-s", f"={session_name}:0", "-t", f"={session_name}:5")

    agent = agents.find(name="gpu")
    agents.stop(agent)

    assert agent.health == "degraded_missing_primary"
    assert not terminal.exists(made.tmux, session_name)


def test_each_agent_of_a_prepared_home_has_its_own_role(agents: Agents, tmp_path: Path) -> None:
    """Two agents from one brain manifest keep their roles apart; nothing is written beside the home."""
    home = tmp_path / "prepared" / "home"
    home.mkdir(parents=True)
    manifest = tmp_path / "brain.yaml"
    manifest.write_text(
        "inputs: {tool: scripted}\n"
        f"runtime: {{home_path: {home}, launch_home_selector: {{env_var: X}}, launch_executable: python}}\n"
    )

    specs = [_spec(tmp_path, name, brain_manifest=manifest, role_text=name) for name in ("one", "two")]
    made = [agents.launch(spec) for spec in specs]

    assert [start.launch_of(one).role_text for one in made] == ["one", "two"]
    assert list((tmp_path / "prepared").iterdir()) == [home]


def test_clean_up_puts_dead_records_right_and_purges_on_request(agents: Agents, tmp_path: Path) -> None:
    """What died is marked stopped; a purge forgets it with every folder the launch made."""
    agents.launch(_spec(tmp_path))
    Tmux(agents.server).run("kill-server")
    broken = agents.registry.root / "live_agents" / "broken"
    broken.mkdir()
    (broken / "record.json").write_text("{")

    cleaned = list(cleanup.clean_up(agents))
    [agent] = agents.registered(states=None)

    assert [item.what for item in cleaned] == ["record broken", "agent gpu"]
    assert agent.health == "stopped"
    list(cleanup.clean_up(agents, purge=True))
    assert _files(tmp_path / "runtime") == set()
    assert agents.registry.entries() == []


def test_a_purge_keeps_the_home_that_another_agent_uses(agents: Agents, tmp_path: Path) -> None:
    """Two agents of one brain manifest: forgetting one takes nothing from the other."""
    first = agents.launch(_spec(tmp_path, "one"))
    brain_manifest = Path(first.manifest.brain_manifest_path)
    second = agents.launch(_spec(tmp_path, "two", agent_id="second", brain_manifest=brain_manifest))
    home = Path(second.manifest.launch_plan.home_selector.home_path)
    agents.stop(agents.find(name="one"))

    list(cleanup.clean_up(agents, purge=True))

    assert not first.root.exists()
    assert home.is_dir()
    assert brain_manifest.is_file()


def test_a_program_that_dies_at_once_leaves_nothing(
    agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the program's last words; record, folders and terminal are gone."""
    monkeypatch.setattr(start, "EARLY_DEATH_SECONDS", LIMIT_SECONDS)  # however long it takes to find out
    with pytest.raises(Unavailable, match=r"unrecognized|unknown|usage"):
        agents.launch(_spec(tmp_path, headless=False, args=("--no-such-option",)))

    assert agents.registry.entries() == []
    assert _files(tmp_path / "runtime") == set()
    assert frozenset(terminal.pane_states(Tmux(agents.server))) == frozenset()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(Path.unlink, "is missing", id="missing"),
        pytest.param(
            lambda path: path.chmod(0o644), "is open to other users: run chmod 600 on it", id="open"
        ),
    ],
)
def test_a_relaunch_without_a_good_file_of_variables_says_so(
    agents: Agents, tmp_path: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    """The agent is not started without them; with the file as it was, it is."""
    made = agents.launch(_spec(tmp_path, headless=False, environment={"API_KEY": "s3cr3t-value"}))
    agents.stop(agents.find(name="gpu"))
    variables_file = made.root / "launch-env.json"
    content = variables_file.read_bytes()
    spoil(variables_file)

    with pytest.raises(Unavailable, check=lambda error: error.code == "agent_died") as refused:
        agents.relaunch(agents.find(name="gpu"))

    # The pane breaks its lines, at a blank or not.
    assert "".join(reason.split()) in "".join(str(refused.value).replace(" / ", "").split())
    files.write_whole(variables_file, content.replace(b"-value", b"-renewed"), durable=False)
    agents.relaunch(agents.find(name="gpu"))
    pane = terminal.agent_pane(made.tmux, made.tmux_session_name)
    wait_for(lambda: processes.has_variable(pane.pid, "API_KEY", "s3cr3t-renewed"))


def test_a_launch_that_fails_after_the_start_ends_the_program(
    agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that ignores the hang-up of its terminal: without a record it could not be found again."""
    argv = ("/bin/sh", "-c", "trap '' HUP; echo ready; while :; do sleep 0.1; done")
    monkeypatch.setattr(type(TOOL), "tui_program", lambda *_: Program(argv=argv))
    family = []

    def full(made: Session, _: object) -> Session:
        pane = terminal.agent_pane(made.tmux, made.tmux_session_name)
        wait_for(lambda: "ready" in terminal.capture(made.tmux, pane.pane_id).rows)
        family.extend(processes.tree(pane.pid))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(session, "update", full)
    with pytest.raises(OSError, match="No space left"):
        agents.launch(_spec(tmp_path, headless=False))

    assert family
    assert [process for process in family if process.is_alive()] == []
    assert agents.registry.entries() == []
    assert terminal.pane_states(Tmux(agents.server)) == {}


def test_secrets_reach_the_program_and_nothing_else(agents: Agents, tmp_path: Path) -> None:
    """A value is in the program's environment and in one 0600 file; not in tmux, ps or any other file."""
    made = agents.launch(_spec(tmp_path, headless=False, environment={"API_KEY": "s3cr3t-value"}))
    pane = terminal.agent_pane(made.tmux, made.tmux_session_name)

    wait_for(lambda: processes.has_variable(pane.pid, "API_KEY", "s3cr3t-value"))
    holding = files_with(tmp_path, b"s3cr3t")
    assert holding == [made.root / "launch-env.json"]
    assert holding[0].stat().st_mode & 0o777 == 0o600
    tmux = made.tmux
    shown = tmux.run("show-environment", "-g") + tmux.run("show-environment", "-t", made.tmux_session_name)
    shown += tmux.run("list-panes", "-a", "-F", "#{pane_start_command}")
    shown += subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
    assert "s3cr3t" not in shown
    assert made.manifest.launch_plan.env_var_names == ["API_KEY"]


def test_without_tmux_a_launch_writes_nothing(
    agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without tmux gets the command that installs it, and no half-made session."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Unavailable, match="install"):
        agents.launch(_spec(tmp_path))

    assert not (tmp_path / "runtime").exists()
    assert agents.registry.entries() == []


def test_a_session_of_another_server_is_never_touched(
    agents: Agents, tmp_path: Path, other_tmux_server: Server
) -> None:
    """Every command asks the server that the session was recorded with."""
    made = agents.launch(_spec(tmp_path))
    elsewhere = Agents(agents.roots, agents.registry, other_tmux_server, NoSessionHooks())
    terminal.create(
        Tmux(other_tmux_server), made.tmux_session_name, working_directory=tmp_path, environment={}
    )

    elsewhere.stop(elsewhere.find(name="gpu"))

    assert not terminal.exists(made.tmux, made.tmux_session_name)
    assert terminal.exists(Tmux(other_tmux_server), made.tmux_session_name)


def test_the_current_session_is_found_and_a_foreign_pointer_fails_closed(
    agents: Agents, tmp_path: Path
) -> None:
    """Inside its tmux session an agent finds itself; a pointer to another session is refused."""
    one, two = agents.launch(_spec(tmp_path, "one")), agents.launch(_spec(tmp_path, "two"))
    here = current.TmuxLocation(agents.server, one.tmux_session_name)
    assert current.resolve(here, agents.registry) == one

    terminal.set_environment(one.tmux, one.tmux_session_name, {"HOUMAO_MANIFEST_PATH": "/gone/manifest.json"})
    assert current.resolve(here, agents.registry) == one

    terminal.set_environment(
        one.tmux, one.tmux_session_name, {"HOUMAO_MANIFEST_PATH": str(two.manifest_path)}
    )
    with pytest.raises(Conflict, check=lambda error: error.code == "wrong_session"):
        current.resolve(here, agents.registry)


def test_a_session_that_is_no_agent_says_so(agents: Agents, tmp_path: Path) -> None:
    """A plain tmux session is not a managed agent, and outside tmux there is none at all."""
    terminal.create(Tmux(agents.server), "plain", working_directory=tmp_path, environment={})

    with pytest.raises(NotFound, check=lambda error: error.code == "not_an_agent"):
        current.resolve(current.TmuxLocation(agents.server, "plain"), agents.registry)
    with pytest.raises(NotFound, check=lambda error: error.code == "not_in_tmux"):
        current.locate({})


def test_a_running_session_is_joined_without_being_touched(agents: Agents, tmp_path: Path) -> None:
    """Joining records the agent where it is; its program keeps its pid."""
    tmux = Tmux(agents.server)
    before = terminal.create(tmux, "mine", working_directory=tmp_path, environment={})
    spec = join.JoinSpec(tool="scripted", name="joined", working_directory=tmp_path, home=tmp_path)

    made = join.join(spec, current.TmuxLocation(agents.server, "mine"), agents.roots, agents.registry)

    assert terminal.agent_pane(tmux, "mine").pid == before.pid
    assert agents.find(name="joined").session == made
    assert current.resolve(current.TmuxLocation(agents.server, "mine"), agents.registry) == made
    assert made.manifest.agent_launch_authority is not None
    assert made.manifest.agent_launch_authority.session_origin == "joined_tmux"


def test_a_joined_agent_is_not_started_again_by_us(agents: Agents, tmp_path: Path) -> None:
    """How it was started is not known, so relaunch says what the person can do."""
    terminal.create(Tmux(agents.server), "mine", working_directory=tmp_path, environment={})
    spec = join.JoinSpec(tool="scripted", name="joined", working_directory=tmp_path, home=tmp_path)
    made = join.join(spec, current.TmuxLocation(agents.server, "mine"), agents.roots, agents.registry)

    with pytest.raises(Conflict, match="was joined: start it again yourself"):
        agents.relaunch(agents.find(name="joined"))

    assert Path(made.manifest.brain_manifest_path).is_file()


def test_a_joined_agent_that_ended_is_joined_again_under_its_name(agents: Agents, tmp_path: Path) -> None:
    """Its record says that we can't start it, and does not stand in the way of the next one."""
    spec = join.JoinSpec(tool="scripted", name="joined", working_directory=tmp_path, home=tmp_path)
    here = current.TmuxLocation(agents.server, "mine")
    terminal.create(Tmux(agents.server), "mine", working_directory=tmp_path, environment={})
    first = join.join(spec, here, agents.roots, agents.registry)
    agents.stop(agents.find(name="joined"))
    stopped = agents.find(name="joined").record.lifecycle
    terminal.create(Tmux(agents.server), "mine", working_directory=tmp_path, environment={})

    second = join.join(spec, here, agents.roots, agents.registry)

    assert (stopped.state, stopped.relaunchable) == ("stopped", False)
    assert agents.find(name="joined").session == second
    assert second.root != first.root


def test_a_session_that_counts_from_one_can_be_joined(agents: Agents, tmp_path: Path) -> None:
    """A person's `base-index 1` gives way in this session: the agent is window 0."""
    tmux = Tmux(agents.server)
    before = terminal.create(tmux, "mine", working_directory=tmp_path, environment={})
    tmux.run("set-option", "-t", "=mine:", "base-index", "1")
    tmux.run("move-window", "-r", "-t", "=mine:")
    spec = join.JoinSpec(tool="scripted", name="joined", working_directory=tmp_path, home=tmp_path)

    join.join(spec, current.TmuxLocation(agents.server, "mine"), agents.roots, agents.registry)

    assert terminal.agent_pane(tmux, "mine").pid == before.pid


def test_a_name_in_use_is_not_joined(agents: Agents, tmp_path: Path) -> None:
    """Not even under an id of another agent's choosing, unless this one has its own."""
    agents.launch(_spec(tmp_path, "gpu", agent_id="other"))
    terminal.create(Tmux(agents.server), "mine", working_directory=tmp_path, environment={})
    spec = join.JoinSpec(tool="scripted", name="gpu", working_directory=tmp_path, home=tmp_path)

    with pytest.raises(Conflict, match="'gpu' exists already"):
        join.join(spec, current.TmuxLocation(agents.server, "mine"), agents.roots, agents.registry)

    assert [record.agent_id for record in agents.registry.records()] == ["other"]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"working_directory": Path("/no/such/folder")}, InvalidInput),
        ({"brain_manifest": Path("/no/such.yaml")}, Exception),
        ({"agent_def_dir": Path("/no/such")}, Exception),
    ],
)
def test_a_launch_that_cannot_be_is_refused_before_anything_is_written(
    agents: Agents, tmp_path: Path, spec: dict[str, Path], error: type[Exception]
) -> None:
    """Bad input leaves no trace."""
    given = {"tool": "scripted", "name": "gpu", "headless": True, "working_directory": tmp_path, **spec}

    with pytest.raises(error):
        agents.launch(LaunchSpec(**given))  # type: ignore[arg-type]  # a table of arguments

    assert not (tmp_path / "runtime").exists()


def test_legacy_backends_are_shown_and_refused(agents: Agents, tmp_path: Path) -> None:
    """An old record is listed; driving it is refused with what to do."""
    made = agents.launch(_spec(tmp_path))
    path = agents.registry.root / "live_agents" / made.agent_id / "record.json"
    record = json.loads(path.read_bytes())
    record["identity"]["backend"] = "cao_rest"
    path.write_text(json.dumps(record))

    agent = agents.find(name="gpu")

    for act in (agents.relaunch, agents.stop):
        with pytest.raises(LegacyBackend, match="start a new session"):
            act(agent)
    assert terminal.exists(made.tmux, made.tmux_session_name)


def test_a_frozen_tmux_server_gives_an_error_not_a_hang(
    agents: Agents, tmp_path: Path, frozen_tmux_server: Server
) -> None:
    """Listing says unknown with the reason; launching is refused with nothing written."""
    stuck = Agents(agents.roots, agents.registry, frozen_tmux_server, NoSessionHooks())

    with _impatient(), pytest.raises(Unavailable, match="did not answer"):
        stuck.launch(_spec(tmp_path))

    assert not (tmp_path / "runtime").exists()


def test_an_agent_on_a_frozen_server_is_left_as_it_is(agents: Agents, tmp_path: Path) -> None:
    """Stop, relaunch and replace say at once that tmux does not answer, and touch nothing."""
    agents.launch(_spec(tmp_path))
    server_pid = int(Tmux(agents.server).run("display-message", "-p", "#{pid}"))
    os.kill(server_pid, signal.SIGSTOP)
    try:
        with _impatient():
            stuck = agents.find(name="gpu")
            before = agents.registry.records()
            for act in (agents.stop, agents.relaunch):
                with pytest.raises(Unavailable, match="did not answer"):
                    act(stuck)
            with pytest.raises(Unavailable, match="did not answer"):
                agents.launch(_spec(tmp_path), replace_existing=True)
    finally:
        os.kill(server_pid, signal.SIGCONT)

    assert stuck.health == "unknown"
    assert agents.registry.records() == before
    assert agents.find(name="gpu").health == "healthy"
