"""Agents as processes drive them, one module for each way of running: `tui` and `headless`.

`adapter` is the contract. Owns watching an agent and giving it prompts; who may, and when, is the caller's.
"""

from typing import TYPE_CHECKING

from posthouse.contracts.manifest import MAINTAINED
from posthouse.errors import InvalidInput

if TYPE_CHECKING:
    from posthouse.driving.adapter import AgentAdapter
    from posthouse.sessions.session import Session


class UnsupportedBackend(InvalidInput):
    """Sessions of that backend are recognised, but not driven."""

    code = "unsupported_backend"


def of(session: "Session") -> "AgentAdapter":
    """The adapter for *session*.

    Raises:
        UnsupportedBackend: There is none for its backend.
    """
    manifest = session.manifest
    if manifest.backend not in MAINTAINED:
        raise UnsupportedBackend(
            f"backend {manifest.backend} is only shown, never driven: start a new session"
        )
    if manifest.is_headless:
        from posthouse.driving.headless import HeadlessAdapter

        return HeadlessAdapter(session)
    from posthouse.driving.tui import TuiAdapter

    return TuiAdapter(session)
