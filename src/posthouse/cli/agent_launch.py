"""From the options of `agents launch` and `agents join` to a running agent, and how it is shown."""

from argparse import Namespace
from pathlib import Path

from posthouse import tools
from posthouse.cli import target
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.gateways import Address
from posthouse.cli.output import fields
from posthouse.cli.wiring import Wiring
from posthouse.errors import InvalidInput
from posthouse.sessions import current, secrets
from posthouse.sessions import join as joining
from posthouse.sessions.agents import AgentExists
from posthouse.sessions.join import JoinSpec
from posthouse.sessions.launch import DEFAULT_ROLE, LaunchSpec
from posthouse.sessions.session import Session

_MAX_ROLE_BYTES = 1 << 20
#: What can be said of a new agent's mailbox, and what it means.
MAILBOX_OPTIONS = {
    "mailbox-transport": "filesystem or stalwart (default: filesystem)",
    "mailbox-address": "its address (default: NAME@houmao.localhost)",
    "mailbox-principal-id": "whose mailbox it is (default: HOUMAO-NAME)",
    "mailbox-root": "the folder where mail lies (default: the project's, else your own)",
    "mailbox-path": "a folder of its own outside the root",
    "mailbox-base-url": "the address of a stalwart server",
}
#: Where an option is not called as the declared field is.
_FIELDS = {"mailbox-root": "filesystem_root", "mailbox-path": "mailbox_path"}


class BadRoleFile(InvalidInput):
    """The role's text can't be read."""

    code = "bad_role_file"


class NameTaken(AgentExists):
    """The name is in use; the message has the commands that help. Nothing was touched."""

    def __init__(self, error: AgentExists, call: Call) -> None:
        super().__init__(error.there)
        there = error.there
        relaunch = target.command_for(call, "relaunch", there.name, there.agent_id)
        self.args = (
            f"agent {there.name!r} is there already ({there.record.identity.tool}, {there.health}, "
            f"id {there.agent_id}); nothing was touched. Start it again with "
            f"`{relaunch}`, or end and forget it by adding --replace",
        )


def spec_of(arguments: Namespace, wiring: Wiring) -> LaunchSpec:
    """What the options ask for, with paths made absolute.

    Raises:
        BadVariable, BadRoleFile: A variable or the role can't be had.
    """
    return LaunchSpec(
        tool=arguments.tool,
        name=arguments.name,
        agent_id=arguments.agent_id,
        headless=arguments.headless,
        working_directory=_folder(arguments.workdir, wiring),
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
        NotInTmux: None was named, and there is no current one.
        And as `sessions.join`.
    """
    if arguments.session:
        here = current.Place(wiring.server, arguments.session)
    else:
        here = current.place(wiring.environment)
    tool = tools.load(arguments.tool)
    home = arguments.home or Path(wiring.environment.get(tool.home_variable) or Path.home())
    spec = JoinSpec(
        tool=arguments.tool,
        name=arguments.name,
        agent_id=arguments.agent_id,
        working_directory=_folder(arguments.workdir, wiring),
        home=home.absolute(),
    )
    return joining.join(spec, here, wiring.roots, wiring.registry)


def show(call: Call, made: Session, gateway: Address | None, word: str) -> None:
    """Tell what was started and what can be done with it."""
    name = made.agent_name
    mailbox = made.manifest.launch_plan.mailbox
    value = {
        "status": word,
        "agent_name": name,
        "agent_id": made.agent_id,
        "tool": made.manifest.tool,
        "backend": made.manifest.backend,
        "tmux_session_name": made.tmux_session_name,
        "manifest_path": str(made.manifest_path),
        "session_root": str(made.root),
        "runtime_root": str(made.runtime_root),
        "gateway": gateway._asdict() if gateway else None,
        "mailbox": None if mailbox is None else {"address": mailbox.address},
    }
    ask = f"{target.command_for(call, 'prompt', name, made.agent_id)} --wait 'say hello'"
    text = fields(
        [
            (word, f"{name} ({made.manifest.tool}, {'headless' if made.manifest.is_headless else 'tui'})"),
            ("id", made.agent_id),
            ("gateway", gateway.url if gateway else "none"),
            ("mailbox", mailbox.address if mailbox else "none"),
            ("ask it", ask),
            ("look at it", target.command_for(call, "attach", name, made.agent_id)),
        ]
    )
    call.output.result(value, text)


def _mailbox(arguments: Namespace) -> dict[str, str] | None:
    """What the options say of the mailbox; None: there shall be none.

    Raises:
        UsageError: They say both.
    """
    given = {}
    for option in MAILBOX_OPTIONS:
        value = getattr(arguments, option.replace("-", "_"))
        if value is not None:
            given[_FIELDS.get(option) or option.removeprefix("mailbox-").replace("-", "_")] = value
    if arguments.no_mailbox and given:
        raise UsageError("--no-mailbox and options about a mailbox contradict each other")
    return None if arguments.no_mailbox else given


def _folder(given: Path | None, wiring: Wiring) -> Path:
    return (wiring.working_directory / (given or "")).resolve()


def _role_text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        content = path.read_bytes()
        if len(content) > _MAX_ROLE_BYTES:
            raise BadRoleFile(f"role file {path} is over {_MAX_ROLE_BYTES} bytes")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRoleFile(f"role file {path} can't be read: {error}") from error
