"""The result of `mail resolve-live`: an agent's current mailbox and its live gateway."""

from collections.abc import Mapping
from typing import Any

from posthouse.cli import mailboxes, turns
from posthouse.cli.context import Call
from posthouse.sessions.session import Session


def resolve(call: Call) -> dict[str, Any]:
    """The current mailbox of the agent that *call* is about.

    Raises:
        InvalidInput: It has no mailbox.
        PosthouseError: The mailbox can't be used.
    """
    if call.asks_server:
        return _via_server(call)
    agent = call.agent()
    session = turns.session_of(agent)
    binding = mailboxes.binding_of(session, call.prog)
    from posthouse.gateway_lifecycle import attach, mailbox_lookup

    answer = mailbox_lookup.describe_mailbox(
        session,
        binding,
        attach.live(session),
        source="manifest_binding",
        environment=call.wiring.environment,
    )
    return _with_agent(answer, _local_agent(session))


def _via_server(call: Call) -> dict[str, Any]:
    server = call.server()
    identity = server.agent(call.selection.value)
    answer = server.gateway(identity.tracked_agent_id).mail("resolve-live")
    managed = {
        "mode": "server",
        "agent_ref": call.selection.value,
        "tracked_agent_id": identity.tracked_agent_id,
        "agent_name": identity.agent_name,
        "agent_id": identity.agent_id,
        "tmux_session_name": identity.tmux_session_name,
    }
    return _with_agent(answer, managed)


def _with_agent(answer: Mapping[str, Any], managed_agent: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **answer,
        "schema_version": 1,
        "gateway_available": answer["gateway"] is not None,
        "managed_agent": managed_agent,
    }


def _local_agent(session: Session) -> dict[str, Any]:
    return {
        "mode": "local",
        "agent_ref": session.agent_id,
        "tracked_agent_id": session.agent_id,
        "agent_name": session.agent_name,
        "agent_id": session.agent_id,
        "tmux_session_name": session.tmux_session_name,
    }
