"""What is told of an agent's mailbox and the live gateway beside it, so that a caller can use both."""

from collections.abc import Mapping
from typing import Any, Literal

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.contracts.manifest import Mailbox
from posthouse.errors import Unavailable
from posthouse.mailbox import location
from posthouse.sessions.session import Session
from posthouse.terminal import session as terminal

#: Who answers: somebody on the machine who read the manifest, or the coordination server.
Source = Literal["manifest_binding", "pair_authority"]
_NO_VARIABLES: Mapping[str, str] = {}
_REPEATED = ("transport", "principal_id", "address", "bindings_version")


def resolved(
    found: Session,
    binding: Mailbox,
    there: gf.CurrentInstance | None,
    *,
    source: Source,
    environment: Mapping[str, str] = _NO_VARIABLES,
) -> dict[str, Any]:
    """The mailbox as it is registered, and the gateway *there*. Reads files and asks tmux.

    Raises:
        BindingOutdated, MailboxUnusable, MailTrouble: The mailbox can't be used.
    """
    mailbox = location.located(binding)
    return {
        "source": source,
        **{name: mailbox[name] for name in _REPEATED},
        "mailbox": mailbox,
        "gateway": None if there is None else _shown(found, there, environment),
    }


def _shown(found: Session, there: gf.CurrentInstance, environment: Mapping[str, str]) -> dict[str, Any]:
    """The gateway; who published it is told as its source."""
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
