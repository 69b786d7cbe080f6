"""Starting an agent in its terminal: at launch, and again at every relaunch."""

import time
from pathlib import Path

from msgspec import structs

from posthouse import tools
from posthouse.contracts import names
from posthouse.contracts.manifest import Manifest
from posthouse.errors import Unavailable
from posthouse.sessions import brain, secrets, session
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.support import crashpoints, processes
from posthouse.terminal import session as terminal
from posthouse.terminal import variable_files
from posthouse.terminal.pane import Pane
from posthouse.tools.tool import Chat, Launch

#: A broken program exits at once; the gateway detects later exits.
EARLY_DEATH_SECONDS = 0.2
#: Separate limit for the launcher, which may take a second on a busy machine.
_LAUNCHER_SECONDS = 10.0
_LAUNCHER_POLL_SECONDS = 0.005
#: tmux shows a program's final output shortly after its exit.
_FINAL_OUTPUT_SECONDS = 2.0
_POLL_SECONDS = 0.02


def start_agent(made: Session, chat: Chat, roots: Roots) -> Session:
    """Open the session's terminal and start its program; a headless agent waits there for turns.

    Raises:
        Unavailable: The program exited at once; the message has its last lines.
        Unavailable: tmux failed.
    """
    pane = open_terminal(made, roots)
    crashpoints.reach("terminal opened")
    if made.manifest.is_headless:
        return session.update(made, lambda manifest: with_pane(manifest, pane))
    return start_tui(made, pane, chat)


def launch_of(made: Session) -> Launch:
    """The launch parameters that every start of the session's program uses."""
    manifest = made.manifest
    metadata = manifest.launch_plan.metadata
    model, level = metadata.get("model"), metadata.get("reasoning_level")
    permissions = metadata.get("permissions")
    return Launch(
        home=Path(manifest.launch_plan.home_selector.home_path),
        working_directory=Path(manifest.working_directory),
        role_name=manifest.role_name,
        role_text=_stored_role(manifest),
        model=model if isinstance(model, str) else None,
        reasoning_level=level if isinstance(level, int) else None,
        args=tuple(manifest.launch_plan.args),
        permissions="edits" if permissions == "edits" else "all" if permissions == "all" else "ask",
    )


def start_tui(made: Session, pane: Pane, chat: Chat) -> Session:
    """Start the TUI in *pane* and record where it runs.

    Raises:
        Unavailable: The program exited at once; the message has its last lines.
    """
    program = tools.load(made.manifest.tool).tui_program(launch_of(made), chat)
    started = terminal.start_program(
        made.tmux,
        pane,
        variable_files.launch_command(secrets.file_of(made.root), program.argv),
        environment=program.environment,
        working_directory=Path(made.manifest.working_directory),
    )
    crashpoints.reach("program started")
    _await_program(started)
    if processes.wait_exit(started.pid, seconds=EARLY_DEATH_SECONDS):
        output = _final_output(made, started)
        raise Unavailable(
            f"{made.manifest.tool} ended as soon as it was started: {output or 'no output'}",
            code="agent_died",
        )
    return session.update(made, lambda manifest: with_pane(manifest, started))


def _await_program(pane: Pane) -> None:
    """Wait until the launcher in *pane* has become the program or exited, up to a time limit."""
    deadline = time.monotonic() + _LAUNCHER_SECONDS
    while terminal.is_waiting(pane) and time.monotonic() < deadline:
        time.sleep(_LAUNCHER_POLL_SECONDS)


def _final_output(made: Session, pane: Pane) -> str:
    """The program's last output before it exited."""
    deadline = time.monotonic() + _FINAL_OUTPUT_SECONDS
    while not (screen := terminal.capture(made.tmux, pane.pane_id)).dead and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return " / ".join(row.strip() for row in screen.rows if row.strip())[-400:]


def open_terminal(made: Session, roots: Roots) -> Pane:
    """Create the session's tmux session with its discovery variables."""
    manifest = made.manifest
    published = discovery(made, roots)
    if manifest.is_headless:
        selector = manifest.launch_plan.home_selector
        published |= {names.TOOL: manifest.tool, selector.env_var: selector.home_path}
        if manifest.runtime.agent_def_dir:
            published[names.AGENT_DEF_DIR] = manifest.runtime.agent_def_dir
    return terminal.create(
        made.tmux,
        made.tmux_session_name,
        working_directory=Path(manifest.working_directory),
        environment=published,
    )


def discovery(made: Session, roots: Roots) -> dict[str, str]:
    """The variables that every session publishes in its tmux environment."""
    return {
        names.MANIFEST_PATH: str(made.manifest_path),
        names.AGENT_ID: made.agent_id,
        **roots.variables(),
    }


def with_pane(manifest: Manifest, pane: Pane) -> Manifest:
    """*manifest* with the pane the agent runs in."""
    if manifest.tmux is None or manifest.agent_launch_authority is None:
        raise ValueError(f"backend {manifest.backend} has no terminal")
    place = {"primary_window_id": pane.window_id, "primary_pane_id": pane.pane_id}
    state = {"tmux_window_id": pane.window_id, "tmux_pane_id": pane.pane_id}
    pid = None if manifest.is_headless else pane.pid
    return structs.replace(
        manifest,
        tmux=structs.replace(manifest.tmux, **place),
        agent_launch_authority=structs.replace(manifest.agent_launch_authority, **place),
        runtime=structs.replace(manifest.runtime, agent_pid=pid),
        backend_state={**manifest.backend_state, **state},
    )


def _stored_role(manifest: Manifest) -> str:
    if manifest.runtime.agent_def_dir is None:
        return ""
    return brain.read_role(Path(manifest.runtime.agent_def_dir), manifest.role_name)
