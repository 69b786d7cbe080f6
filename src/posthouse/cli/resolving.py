"""What `mail resolve-live` answers: the mailbox that an agent has now, and the live gateway beside it."""

from collections.abc import Mapping
from typing import Any

from posthouse.cli import mailboxes, turnwork
from posthouse.cli.call import Call
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.errors import Unavailable
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal


def resolve(call: Call) -> dict[str, Any]:
    """The current mailbox of the agent that *call* means.

    Raises:
        NoMailbox: It has none.
        BindingOutdated, MailboxUnusable, MailTrouble: The one it names can't be used.
    """
    if call.pair_port is not None:
        return _through_server(call)
    agent = call.agent()
    found = turnwork.session_of(agent)
    mailbox = mailboxes.located(mailboxes.binding_of(found, call.prog))
    gateway = _gateway(found, call.wiring.environment)
    return _told({**_top(mailbox, "manifest_binding"), "gateway": gateway}, _local(found))


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


def _top(mailbox: Mapping[str, Any], source: str) -> dict[str, Any]:
    repeated = ("transport", "principal_id", "address", "bindings_version")
    return {"source": source, **{name: mailbox[name] for name in repeated}, "mailbox": mailbox}


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


def _gateway(found: Session, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """The gateway that lives and answers; who published it is told as its source."""
    from posthouse.attaching import attach

    there = attach.live(found)
    if there is None:
        return None
    state_path = str(found.gateway_root / gf.STATE)
    published = {
        names.GATEWAY_HOST: there.host,
        names.GATEWAY_PORT: str(there.port),
        names.GATEWAY_STATE_PATH: state_path,
        names.GATEWAY_PROTOCOL_VERSION: there.protocol_version,
    }
    return {
        "source": _source(found, environment, published),
        "host": there.host,
        "port": there.port,
        "base_url": f"http://{there.host}:{there.port}",
        "protocol_version": there.protocol_version,
        "state_path": state_path,
    }


def _source(found: Session, environment: Mapping[str, str], published: Mapping[str, str]) -> str:
    if published.items() <= environment.items():
        return "process_env"
    try:
        in_session = terminal.environment(found.tmux, found.tmux_session_name)
    except Unavailable:
        in_session = {}
    return "tmux_session_env" if published.items() <= in_session.items() else "current_instance_record"
