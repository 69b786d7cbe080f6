"""Describes an agent's mailbox and its live gateway to a client."""

from collections.abc import Mapping
from typing import Any, Literal

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.contracts.manifest import Mailbox
from posthouse.errors import Unavailable
from posthouse.mailbox import location
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal

#: Source of the answer: the manifest on this machine, or the server.
Source = Literal["manifest_binding", "pair_authority"]
_NO_VARIABLES: Mapping[str, str] = {}
_REPEATED = ("transport", "principal_id", "address", "bindings_version")


def describe_mailbox(
    found: Session,
    binding: Mailbox,
    instance: gf.CurrentInstance | None,
    *,
    source: Source,
    environment: Mapping[str, str] = _NO_VARIABLES,
) -> dict[str, Any]:
    """The registered mailbox and its gateway *instance*. Reads files and queries tmux.

    Raises:
        Conflict, MailboxUnusable, MailTransportError: The mailbox can't be used.
    """
    mailbox = location.describe(binding)
    return {
        "source": source,
        **{name: mailbox[name] for name in _REPEATED},
        "mailbox": mailbox,
        "gateway": None if instance is None else _gateway_fields(found, instance, environment),
    }


def _gateway_fields(
    found: Session, instance: gf.CurrentInstance, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Fields of the gateway; `source` names where it is published."""
    state_path = str(found.gateway_root / gf.STATE)
    published = {
        names.GATEWAY_HOST: instance.host,
        names.GATEWAY_PORT: str(instance.port),
        names.GATEWAY_STATE_PATH: state_path,
        names.GATEWAY_PROTOCOL_VERSION: instance.protocol_version,
    }
    return {
        "source": _source(found, environment, published),
        "host": instance.host,
        "port": instance.port,
        "base_url": f"http://{instance.host}:{instance.port}",
        "protocol_version": instance.protocol_version,
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
