"""Finds the agent that a command is about; errors suggest the next command."""

import shlex
from typing import TYPE_CHECKING

from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Selection
from posthouse.cli.tree import Path
from posthouse.contracts import names
from posthouse.contracts.identity import same_agent
from posthouse.errors import Conflict, NotFound
from posthouse.sessions import current
from posthouse.sessions.agents import AgentNotFound, Agents, AmbiguousName
from posthouse.sessions.liveness import Agent

if TYPE_CHECKING:
    from posthouse.cli.context import Call
    from posthouse.clients.server.responses import Identity

_SCOPES = ("single", "self")


def find(call: "Call") -> Agent:
    """The agent that *call* is about; with `--port`, as the server resolves it.

    Raises:
        NotFound: There is none, or the current one is not in the registry. The message suggests near names.
        Conflict: Several agents have the name; the message has one exact command for each.
        UsageError: No agent is named, and there is no current one.
    """
    agents, selection = call.wiring.agents, call.selection
    if call.pair_port is not None:
        return agents.find(agent_id=_local_id(call.server().agent(selection.value)))
    try:
        return _find_current(call) if selection.kind == "self" else _find_selected(agents, selection)
    except AmbiguousName as error:
        words = shlex.join((*_verb_words(call.command.path).split(), *call.rest))
        commands = [
            f"  {call.prog} agents single --agent-id {agent.agent_id} {words}" for agent in error.candidates
        ]
        count = len(error.candidates)
        message = f"{count} agents are called {error.name!r}; choose one by its id:"
        raise Conflict("\n".join((message, *commands)), code=AmbiguousName.code) from error
    except AgentNotFound as error:
        suggestion = _suggestion(call.prog, error)
        raise NotFound(
            f"no agent is called {error.wanted!r}; {suggestion}", code=AgentNotFound.code
        ) from error


def _local_id(who: "Identity") -> str:
    """The id in this machine's registry. Ids of other machines may name a different agent here."""
    if who.external_agent_id is None and who.agent_id is not None:
        return who.agent_id
    return who.tracked_agent_id


def command_for(call: "Call", verb: str, name: str, agent_id: str) -> str:
    """The command that does *verb* to exactly this agent: by its name if that is unique, else by its id."""
    others = [record for record in call.wiring.registry.records() if record.agent_id != agent_id]
    is_shared = any(same_agent(record.agent_name, name) or record.agent_id == name for record in others)
    return f"{call.prog} agents {verb} {agent_id if is_shared else name}"


def _find_selected(agents: Agents, selection: Selection) -> Agent:
    if selection.kind == "id":
        return agents.find(agent_id=selection.value)
    if selection.kind == "any" and _is_id(agents, selection.value):
        return agents.find(agent_id=selection.value)
    return agents.find(name=selection.value)


def _is_id(agents: Agents, text: str) -> bool:
    return any(record.agent_id == text for record in agents.registry.records())


def _find_current(call: "Call") -> Agent:
    wiring = call.wiring
    verb = _verb_words(call.command.path)
    if call.command.scope == "short" and wiring.current_tmux is None:
        raise UsageError(f"which agent? {call.prog} agents {verb} NAME")
    found = current.resolve(current.locate(wiring.environment), wiring.registry)
    if wiring.registry.get(found.agent_id) is None:
        raise NotFound(
            f"this is agent {found.agent_name!r}, but {wiring.registry.root} has no record of it; "
            f"set {names.REGISTRY_DIR} to the registry it was launched with",
            code="not_registered",
        )
    return wiring.agents.find(agent_id=found.agent_id)


def _verb_words(path: Path) -> str:
    return " ".join(path[2:] if path[1:2] and path[1] in _SCOPES else path[1:])


def _suggestion(prog: str, error: AgentNotFound) -> str:
    import difflib

    near = difflib.get_close_matches(error.wanted, sorted(set(error.known)), n=3, cutoff=0.5)
    listing = f"`{prog} agents list --state all` lists all agents"
    if near:
        return f"did you mean {' or '.join(near)}? {listing}"
    return listing if error.known else f"there are no agents yet: `{prog} agents launch --help`"
