"""What `mail resolve-live` answers: the mailbox that an agent has now, and the live gateway beside it."""

from collections.abc import Mapping
from typing import Any

from posthouse.cli import mailboxes, turns
from posthouse.cli.context import Call
from posthouse.sessions.session import Session


def resolve(call: Call) -> dict[str, Any]:
    """The current mailbox of the agent that *call* means.

    Raises:
        NoMailbox: It has none.
        BindingOutdated, MailboxUnusable, MailTrouble: The one it names can't be used.
    """
    if call.asks_server:
        return _through_server(call)
    agent = call.agent()
    found = turns.session_of(agent)
    binding = mailboxes.binding_of(found, call.prog)
    from posthouse.gateway_lifecycle import attach, mailbox_lookup

    answer = mailbox_lookup.resolved(
        found,
        binding,
        attach.live(found),
        source="manifest_binding",
        environment=call.wiring.environment,
    )
    return _told(answer, _local(found))


def _through_server(call: Call) -> dict[str, Any]:
    server = call.server()
    who = server.agent(call.selection.value)
    answer = server.gateway(who.tracked_agent_id).mail("resolve-live")
    managed = {
        "mode": "server",
        "agent_ref": call.selection.value,
        "tracked_agent_id": who.tracked_agent_id,
        "agent_name": who.agent_name,
        "agent_id": who.agent_id,
        "tmux_session_name": who.tmux_session_name,
    }
    return _told(answer, managed)


def _told(answer: Mapping[str, Any], managed_agent: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **answer,
        "schema_version": 1,
        "gateway_available": answer["gateway"] is not None,
        "managed_agent": managed_agent,
    }


def _local(found: Session) -> dict[str, Any]:
    return {
        "mode": "local",
        "agent_ref": found.agent_id,
        "tracked_agent_id": found.agent_id,
        "agent_name": found.agent_name,
        "agent_id": found.agent_id,
        "tmux_session_name": found.tmux_session_name,
    }
