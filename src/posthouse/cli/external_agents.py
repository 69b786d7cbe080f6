"""Commands about agents of other machines: which server is asked, and what is not done from here."""

from posthouse.cli import server_options
from posthouse.cli.context import Call
from posthouse.cli.options import Selection
from posthouse.contracts import names
from posthouse.contracts.identity import same_agent
from posthouse.errors import Denied

_OF_ITS_OWN_MACHINE = {("stop",), ("relaunch",), ("watch",), ("gateway", "attach"), ("gateway", "detach")}


class OnlyTalkedTo(Denied):
    """The agent is managed on its own machine; nothing was done."""

    code = "external_agent"


def directed(call: Call) -> Call:
    """*call*, which asks the server of another machine when that is where its agent is.

    Raises:
        OnlyTalkedTo: It is, and the command is for agents of this machine.
    """
    if call.selection.kind == "self" or call.pair_port is not None:
        return call
    root = call.wiring.roots.registry
    if not (root / names.EXTERNAL_AGENTS).is_dir():
        return call
    from posthouse.sessions.externals import ExternalNotFound, Externals

    try:
        record = Externals(root).find(call.selection.value)
    except ExternalNotFound:
        return call
    if _is_here(call, record.local_name):
        return call
    verb = call.command.path[2 if call.command.scope == "single" else 1 :]
    if server_options.of(call.command) is None or verb in _OF_ITS_OWN_MACHINE:
        raise OnlyTalkedTo(
            f"{record.local_name!r} lives at {record.pair_api_base_url} and is only talked to from here: "
            f"`{' '.join(verb)}` is for its own machine"
        )
    return call._replace(elsewhere=record, selection=Selection("any", record.remote_agent_ref))


def _is_here(call: Call, name: str) -> bool:
    """Whether an agent of this machine has that name too; it is meant then."""
    return any(same_agent(record.agent_name, name) for record in call.wiring.registry.records())
