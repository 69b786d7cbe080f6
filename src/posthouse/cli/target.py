"""Which agent a command is about, and what to say when that is not clear."""

import shlex
from typing import TYPE_CHECKING

from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Selection
from posthouse.cli.tree import Path
from posthouse.contracts import names
from posthouse.contracts.identity import same_agent
from posthouse.errors import NotFound
from posthouse.sessions import current
from posthouse.sessions.agents import AgentNotFound, Agents, AmbiguousName
from posthouse.sessions.liveness import Agent

if TYPE_CHECKING:
    from posthouse.cli.context import Call
    from posthouse.clients.server.responses import Identity

_SCOPES = ("single", "self")


class NoSuchAgent(AgentNotFound):
    """There is none; the message suggests what may have been meant."""

    def __init__(self, wanted: str, known: list[str], advice: str) -> None:
        super().__init__(wanted, known)
        self.args = (f"no agent is called {wanted!r}; {advice}",)


class WhichOne(AmbiguousName):
    """Several have that name; the message has one exact command for each."""

    def __init__(self, name: str, candidates: list[Agent], commands: list[str]) -> None:
        super().__init__(name, candidates)
        lines = "\n".join(f"  {command}" for command in commands)
        self.args = (f"{len(candidates)} agents are called {name!r}; choose one by its id:\n{lines}",)


class NotRegistered(NotFound):
    """The current session is an agent, but not of this registry."""

    code = "not_registered"


def find(call: "Call") -> Agent:
    """The agent that *call* means; with `--port` the server says which one that is.

    Raises:
        NoSuchAgent, WhichOne: There is none, or several.
        UsageError: It names none, and there is no current one.
    """
    agents, selection = call.wiring.agents, call.selection
    if call.pair_port is not None:
        return agents.find(agent_id=_id_here(call.server().agent(selection.value)))
    try:
        return _current(call) if selection.kind == "self" else _chosen(agents, selection)
    except AmbiguousName as error:
        words = shlex.join((*_verb(call.command.path).split(), *call.rest))
        commands = [
            f"{call.prog} agents single --agent-id {agent.agent_id} {words}" for agent in error.candidates
        ]
        raise WhichOne(error.name, error.candidates, commands) from error
    except AgentNotFound as error:
        raise NoSuchAgent(error.wanted, error.known, _advice(call.prog, error)) from error


def _id_here(who: "Identity") -> str:
    """The id in this machine's registry; that of another machine's agent may be somebody else's here."""
    if who.external_agent_id is None and who.agent_id is not None:
        return who.agent_id
    return who.tracked_agent_id


def command_for(call: "Call", verb: str, name: str, agent_id: str) -> str:
    """The command that does *verb* to this agent and to no other: by its name where that is enough."""
    others = [record for record in call.wiring.registry.records() if record.agent_id != agent_id]
    is_shared = any(same_agent(record.agent_name, name) or record.agent_id == name for record in others)
    return f"{call.prog} agents {verb} {agent_id if is_shared else name}"


def _chosen(agents: Agents, selection: Selection) -> Agent:
    if selection.kind == "id":
        return agents.find(agent_id=selection.value)
    if selection.kind == "any" and _is_id(agents, selection.value):
        return agents.find(agent_id=selection.value)
    return agents.find(name=selection.value)


def _is_id(agents: Agents, text: str) -> bool:
    return any(record.agent_id == text for record in agents.registry.records())


def _current(call: "Call") -> Agent:
    wiring = call.wiring
    verb = _verb(call.command.path)
    if call.command.scope == "short" and wiring.current_tmux is None:
        raise UsageError(f"which agent? {call.prog} agents {verb} NAME")
    found = current.resolve(current.place(wiring.environment), wiring.registry)
    if wiring.registry.get(found.agent_id) is None:
        raise NotRegistered(
            f"this is agent {found.agent_name!r}, but {wiring.registry.root} has no record of it; "
            f"set {names.REGISTRY_DIR} to the registry it was launched with"
        )
    return wiring.agents.find(agent_id=found.agent_id)


def _verb(path: Path) -> str:
    return " ".join(path[2:] if path[1:2] and path[1] in _SCOPES else path[1:])


def _advice(prog: str, error: AgentNotFound) -> str:
    import difflib

    near = difflib.get_close_matches(error.wanted, sorted(set(error.known)), n=3, cutoff=0.5)
    listing = f"`{prog} agents list --state all` shows what there is"
    if near:
        return f"did you mean {' or '.join(near)}? {listing}"
    return listing if error.known else f"there is none yet: `{prog} agents launch --help`"
