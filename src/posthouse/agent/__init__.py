"""Agents as processes drive them, one module for each way of running: `tui`, `headless` and `managed`.

`adapter` is the contract. Owns watching an agent and giving it prompts; who may, and when, is the caller's.
"""

from typing import TYPE_CHECKING

from posthouse.contracts.manifest import MAINTAINED
from posthouse.errors import InvalidInput

if TYPE_CHECKING:
    from posthouse.agent.adapter import AgentAdapter
    from posthouse.contracts.gateway_files import BackendMetadata
    from posthouse.sessions.session import Session
    from posthouse.support.supervision import Supervisor


class UnsupportedBackend(InvalidInput):
    """Sessions of that backend are recognised, but not driven."""

    code = "unsupported_backend"


def for_gateway(
    session: "Session", metadata: "BackendMetadata", background: "Supervisor | None" = None
) -> "AgentAdapter":
    """The adapter by which a gateway drives *session*: through the server that *metadata* names, if it does.

    *background* restarts what the adapter runs in the background, and says when that dies.

    Raises:
        UnsupportedBackend: There is none for its backend.
    """
    is_owned = session.manifest.is_headless and metadata.managed_agent_ref is not None
    if not is_owned or metadata.managed_api_base_url is None or metadata.managed_agent_ref is None:
        return of(session, background)
    from posthouse.agent.server_owned import ManagedAdapter, Owner

    return ManagedAdapter(
        session, Owner(metadata.managed_api_base_url, metadata.managed_agent_ref), background
    )


def of(session: "Session", background: "Supervisor | None" = None) -> "AgentAdapter":
    """The adapter for *session*, which its caller drives itself; *background* as for a gateway.

    Raises:
        UnsupportedBackend: There is none for its backend.
    """
    manifest = session.manifest
    if manifest.backend not in MAINTAINED:
        raise UnsupportedBackend(
            f"backend {manifest.backend} is only shown, never driven: start a new session"
        )
    if manifest.is_headless:
        from posthouse.agent.headless import HeadlessAdapter

        return HeadlessAdapter(session, background)
    from posthouse.agent.tui import TuiAdapter

    return TuiAdapter(session, background)
