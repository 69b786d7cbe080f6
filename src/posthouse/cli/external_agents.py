"""Commands for agents of other machines: the server to ask, and the commands that are refused."""

from posthouse.cli import server_options
from posthouse.cli.context import Call
from posthouse.cli.options import Selection
from posthouse.contracts import names
from posthouse.contracts.identity import same_agent
from posthouse.errors import Denied

_LOCAL_ONLY = {("stop",), ("relaunch",), ("watch",), ("gateway", "attach"), ("gateway", "detach")}


def resolve_external(call: Call) -> Call:
    """*call*, directed to the server of another machine if the agent is external.

    Raises:
        Denied: The agent is external, and the command works only on its own machine.
    """
    if call.selection.kind == "self" or call.pair_port is not None:
        return call
    root = call.wiring.roots.registry
    if not (root / names.EXTERNAL_AGENTS).is_dir():
        return call
    from posthouse.sessions.externals import ExternalAgents, ExternalNotFound

    try:
        record = ExternalAgents(root).find(call.selection.value)
    except ExternalNotFound:
        return call
    if _is_local(call, record.local_name):
        return call
    verb = call.command.path[2 if call.command.scope == "single" else 1 :]
    if server_options.for_command(call.command) is None or verb in _LOCAL_ONLY:
        raise Denied(
            f"agent {record.local_name!r} is external, managed at {record.pair_api_base_url}: "
            f"run `{' '.join(verb)}` on its own machine",
            code="external_agent",
        )
    return call._replace(external_record=record, selection=Selection("any", record.remote_agent_ref))


def _is_local(call: Call, name: str) -> bool:
    """Whether an agent of this machine has that name too. The local one takes precedence."""
    return any(same_agent(record.agent_name, name) for record in call.wiring.registry.records())
