"""The status of having no gateway."""

import asyncio
from pathlib import Path
from typing import Any

from msgspec import structs

from posthouse.contracts import manifest as m
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.server.offline import status_of
from posthouse.server.records import member_of
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.testing.running_gateways import session_in
from posthouse.testing.server_with_gateways import record_of


def told(session: Session) -> dict[str, Any]:
    status = asyncio.run(status_of(member_of(record_of(session), session)))
    GatewayStatus.model_validate(status)
    return status


def test_it_is_told_whatever_lies_on_disk(tmp_path: Path) -> None:
    """From the manifest; from the record alone where the manifest is gone or broken."""
    session = session_in(tmp_path)
    whole = told(session)
    session.manifest_path.write_text("{")
    broken = told(session)
    session.manifest_path.unlink()

    assert (whole["gateway_health"], whole["attach_identity"]) == ("not_attached", "claude_headless-1")
    assert broken == whole == told(session)


def test_half_a_route_to_a_server_is_none(tmp_path: Path) -> None:
    """Manifests of other systems may name an address without an agent."""
    half = m.GatewayRoute(api_base_url="http://127.0.0.1:9889", terminal_id="abc")

    def foreign(manifest: m.Manifest) -> m.Manifest:
        return structs.replace(manifest, gateway_authority=m.GatewayAuthority(attach=half, control=half))

    session = sessions.update(session_in(tmp_path), foreign)

    assert told(session)["gateway_health"] == "not_attached"
