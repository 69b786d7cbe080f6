"""Reads the state of an agent from its live gateway; responses are validated strictly."""

from typing import Literal, TypeVar

from pydantic import ValidationError

from posthouse.contracts.gateway_control_http import HeadlessControlState
from posthouse.contracts.gateway_http import GatewayStatus, Wire
from posthouse.contracts.gateway_tui_http import TerminalState
from posthouse.errors import Unavailable
from posthouse.server.gateways import GatewayLost, LiveGateway, restart_hint
from posthouse.server.member import Member

Shape = TypeVar("Shape", bound=Wire)
Path = Literal["/v1/status", "/v1/control/tui/state", "/v1/control/headless/state"]

#: Timeouts; the TUI state takes longer because it reads the screen.
_SECONDS = 5.0
_SCREEN_SECONDS = 10.0
_OK = 200
_MAX_QUOTED_BYTES = 200
_WRONG_VERSION = "gateway_of_another_version"


async def status(member: Member, gateway: LiveGateway) -> GatewayStatus:
    """Raises: Unavailable, BadGatewayResponse."""
    return await _read(member, gateway, "/v1/status", GatewayStatus)


async def terminal(member: Member, gateway: LiveGateway) -> TerminalState:
    """Raises: Unavailable, BadGatewayResponse."""
    return await _read(member, gateway, "/v1/control/tui/state", TerminalState, seconds=_SCREEN_SECONDS)


async def headless(member: Member, gateway: LiveGateway) -> HeadlessControlState:
    """Raises: Unavailable, BadGatewayResponse."""
    return await _read(member, gateway, "/v1/control/headless/state", HeadlessControlState)


async def _read(
    member: Member, gateway: LiveGateway, path: Path, shape: type[Shape], *, seconds: float = _SECONDS
) -> Shape:
    try:
        answer = await gateway.request("GET", path, seconds=seconds)
    except GatewayLost as error:
        raise Unavailable(
            f"{gateway} does not answer {path}; {restart_hint(member)}", code="gateway_silent"
        ) from error
    if answer.status != _OK:
        quoted = answer.body[:_MAX_QUOTED_BYTES].decode(errors="replace")
        raise Unavailable(f"{gateway} answers {path} with {answer.status}: {quoted}", code=_WRONG_VERSION)
    try:
        return shape.model_validate_json(answer.body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the body"
        raise Unavailable(
            f"{gateway} answers {path} in the shape of another version ({field}: {first['msg']}); "
            f"{restart_hint(member)}",
            code=_WRONG_VERSION,
        ) from error
