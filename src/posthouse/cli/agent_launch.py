"""Turns the options of `agents launch` and `agents join` into a running agent, and shows it."""

from argparse import Namespace
from pathlib import Path

from posthouse import tools
from posthouse.cli import target
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.gateways import GatewayAddress
from posthouse.cli.output import fields
from posthouse.cli.wiring import Wiring
from posthouse.errors import Conflict, InvalidInput
from posthouse.sessions import current, secrets
from posthouse.sessions import join as joining
from posthouse.sessions.agents import AgentExists
from posthouse.sessions.join import JoinSpec
from posthouse.sessions.launch import DEFAULT_ROLE, LaunchSpec
from posthouse.sessions.session import Session

_MAX_ROLE_BYTES = 1 << 20
#: The mailbox options of a new agent, with their help texts.
MAILBOX_OPTIONS = {
    "mailbox-transport": "the transport: filesystem or stalwart (default: filesystem)",
    "mailbox-address": "its mail address (default: NAME@houmao.localhost)",
    "mailbox-principal-id": "its owner's principal id (default: HOUMAO-NAME)",
    "mailbox-root": "the mailbox root (default: the project's, else your own)",
    "mailbox-path": "a private mailbox folder outside the root",
    "mailbox-base-url": "the URL of a stalwart server",
}
#: Options whose field has a different name.
_FIELDS = {"mailbox-root": "filesystem_root", "mailbox-path": "mailbox_path"}


def name_taken(error: AgentExists, call: Call) -> Conflict:
    """The error for a name in use, with the commands that resolve it. The existing agent is unchanged."""
    existing = error.existing
    relaunch = target.command_for(call, "relaunch", existing.name, existing.agent_id)
    return Conflict(
        f"agent {existing.name!r} already exists ({existing.record.identity.tool}, {existing.health}, "
        f"id {existing.agent_id}); nothing was changed. Start it again with "
        f"`{relaunch}`, or replace it by adding --replace",
        code=AgentExists.code,
    )


def spec_of(arguments: Namespace, wiring: Wiring) -> LaunchSpec:
    """The launch specification from the options, with absolute paths.

    Raises:
        InvalidInput: A variable or the role file can't be read.
    """
    return LaunchSpec(
        tool=arguments.tool,
        name=arguments.name,
        agent_id=arguments.agent_id,
        headless=arguments.headless,
        working_directory=_absolute_folder(arguments.workdir, wiring),
        role_name=arguments.role_name or DEFAULT_ROLE,
        role_text=_role_text(arguments.role_file),
        model=arguments.model,
        reasoning_level=arguments.reasoning_level,
        args=tuple(arguments.tool_arg),
        style=arguments.display_style,
        detail=arguments.display_detail,
        permissions=arguments.permissions,
        login=arguments.login,
        caller=wiring.environment,
        user_home=wiring.user_home,
        environment=secrets.collect(arguments.env, wiring.environment, arguments.env_file),
        mailbox=_mailbox(arguments),
        agent_def_dir=arguments.agent_def_dir and arguments.agent_def_dir.absolute(),
        brain_manifest=arguments.brain_manifest and arguments.brain_manifest.absolute(),
    )


def join(arguments: Namespace, wiring: Wiring) -> Session:
    """Join the named or the current tmux session.

    Raises:
        NotFound: No session is named, and there is no current one.
        Errors of `sessions.join`.
    """
    if arguments.session:
        here = current.TmuxLocation(wiring.server, arguments.session)
    else:
        here = current.locate(wiring.environment)
    tool = tools.load(arguments.tool)
    home = arguments.home or Path(wiring.environment.get(tool.home_variable) or Path.home())
    spec = JoinSpec(
        tool=arguments.tool,
        name=arguments.name,
        agent_id=arguments.agent_id,
        working_directory=_absolute_folder(arguments.workdir, wiring),
        home=home.absolute(),
    )
    return joining.join(spec, here, wiring.roots, wiring.registry)


def show_started(call: Call, session: Session, gateway: GatewayAddress | None, status: str) -> None:
    """Show the started agent and the next commands."""
    name = session.agent_name
    mailbox = session.manifest.launch_plan.mailbox
    value = {
        "status": status,
        "agent_name": name,
        "agent_id": session.agent_id,
        "tool": session.manifest.tool,
        "backend": session.manifest.backend,
        "tmux_session_name": session.tmux_session_name,
        "manifest_path": str(session.manifest_path),
        "session_root": str(session.root),
        "runtime_root": str(session.runtime_root),
        "gateway": gateway._asdict() if gateway else None,
        "mailbox": None if mailbox is None else {"address": mailbox.address},
    }
    prompt = f"{target.command_for(call, 'prompt', name, session.agent_id)} --wait 'say hello'"
    text = fields(
        [
            (
                status,
                f"{name} ({session.manifest.tool}, {'headless' if session.manifest.is_headless else 'tui'})",
            ),
            ("id", session.agent_id),
            ("gateway", gateway.url if gateway else "none"),
            ("mailbox", mailbox.address if mailbox else "none"),
            ("prompt it", prompt),
            ("open it", target.command_for(call, "attach", name, session.agent_id)),
        ]
    )
    call.output.result(value, text)


def _mailbox(arguments: Namespace) -> dict[str, str] | None:
    """The mailbox fields from the options; None: no mailbox.

    Raises:
        UsageError: The options contradict each other.
    """
    given = {}
    for option in MAILBOX_OPTIONS:
        value = getattr(arguments, option.replace("-", "_"))
        if value is not None:
            given[_FIELDS.get(option) or option.removeprefix("mailbox-").replace("-", "_")] = value
    if arguments.no_mailbox and given:
        raise UsageError("--no-mailbox can't be combined with mailbox options")
    return None if arguments.no_mailbox else given


def _absolute_folder(given: Path | None, wiring: Wiring) -> Path:
    return (wiring.working_directory / (given or "")).resolve()


def _role_text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        content = path.read_bytes()
        if len(content) > _MAX_ROLE_BYTES:
            raise InvalidInput(f"role file {path} is over {_MAX_ROLE_BYTES} bytes", code="bad_role_file")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"role file {path} can't be read: {error}", code="bad_role_file") from error
