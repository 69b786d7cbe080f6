"""Adapters that drive a running agent: `tui`, `headless` and `server_owned`.

`adapter` is the contract. Owns observing an agent and giving it prompts; the caller owns admission.
"""

from typing import TYPE_CHECKING

from posthouse.contracts.manifest import MAINTAINED
from posthouse.errors import InvalidInput

if TYPE_CHECKING:
    from posthouse.agent.adapter import AgentAdapter
    from posthouse.contracts.gateway_files import BackendMetadata
    from posthouse.sessions.session import Session
    from posthouse.support.supervision import Supervisor


def for_gateway(
    session: "Session", metadata: "BackendMetadata", background: "Supervisor | None" = None
) -> "AgentAdapter":
    """The adapter of a gateway for *session*; it goes through the owning server if *metadata* names one.

    *background* supervises the adapter's background tasks: restarts them and logs failures.

    Raises:
        InvalidInput: The backend can't be driven (`unsupported_backend`).
    """
    is_owned = session.manifest.is_headless and metadata.managed_agent_ref is not None
    if not is_owned or metadata.managed_api_base_url is None or metadata.managed_agent_ref is None:
        return for_session(session, background)
    from posthouse.agent.server_owned import ServerOwnedAdapter, TurnServer

    return ServerOwnedAdapter(
        session, TurnServer(metadata.managed_api_base_url, metadata.managed_agent_ref), background
    )


def for_session(session: "Session", background: "Supervisor | None" = None) -> "AgentAdapter":
    """The adapter for *session* when the caller drives it directly; *background* as in `for_gateway`.

    Raises:
        InvalidInput: The backend can't be driven (`unsupported_backend`).
    """
    manifest = session.manifest
    if manifest.backend not in MAINTAINED:
        raise InvalidInput(
            f"backend {manifest.backend} is read-only: start a new session",
            code="unsupported_backend",
        )
    if manifest.is_headless:
        from posthouse.agent.headless import HeadlessAdapter

        return HeadlessAdapter(session, background)
    from posthouse.agent.tui import TuiAdapter

    return TuiAdapter(session, background)
