"""Gateways as commands need them: is one there, start one, ask it."""

from typing import TYPE_CHECKING, Any

from posthouse.cli.wiring import Wiring
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import strict
from posthouse.errors import PosthouseError, Unavailable
from posthouse.sessions.session import Session
from posthouse.support import processes

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient


class NotAttached(Unavailable):
    """The agent runs, but its gateway could not be started."""

    code = "gateway_not_attached"

    def __init__(self, agent_name: str, reason: PosthouseError, prog: str) -> None:
        super().__init__(
            f"agent {agent_name!r} runs, but its gateway could not be attached: {reason}; "
            f"try again with `{prog} agents gateway attach {agent_name}`"
        )


def process_of(found: Session) -> gf.CurrentInstance | None:
    """The gateway process that the session's files name, if it lives. Asks nobody."""
    try:
        content = (found.gateway_root / gf.CURRENT_INSTANCE).read_bytes()
        instance = strict.decode(content, gf.CurrentInstance)
    except (OSError, ValueError):
        # None, or one that is just being replaced: either way there is none to name.
        return None
    return instance if processes.identify(instance.pid) else None
