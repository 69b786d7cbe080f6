"""What a live gateway says of its agent, read strictly: a shape that we do not know is never guessed at."""

from typing import Literal, TypeVar

from pydantic import ValidationError

from posthouse.contracts.gateway_control_http import HeadlessControlState
from posthouse.contracts.gateway_http import GatewayStatus, Wire
from posthouse.contracts.gateway_tui_http import TerminalState
from posthouse.errors import Unavailable
from posthouse.server.gateways import GatewayLost, LiveGateway, again
from posthouse.server.member import Member

Shape = TypeVar("Shape", bound=Wire)
Path = Literal["/v1/status", "/v1/control/tui/state", "/v1/control/headless/state"]

#: It answers from what it knows, and of a TUI after one look at its screen.
_SECONDS = 5.0
_LOOK_SECONDS = 10.0
_OK = 200
_MAX_TOLD = 200


class SilentGateway(Unavailable):
    """The gateway lives, and did not answer a question that changes nothing."""

    code = "gateway_silent"


class OtherGateway(Unavailable):
    """The gateway answers, but not as this version of it would; nothing of it is believed."""

    code = "gateway_of_another_version"


async def status(member: Member, gateway: LiveGateway) -> GatewayStatus:
    """Raises: SilentGateway, OtherGateway, GatewayGarbled."""
    return await _read(member, gateway, "/v1/status", GatewayStatus)


async def terminal(member: Member, gateway: LiveGateway) -> TerminalState:
    """Raises: SilentGateway, OtherGateway, GatewayGarbled."""
    return await _read(member, gateway, "/v1/control/tui/state", TerminalState, seconds=_LOOK_SECONDS)


async def headless(member: Member, gateway: LiveGateway) -> HeadlessControlState:
    """Raises: SilentGateway, OtherGateway, GatewayGarbled."""
    return await _read(member, gateway, "/v1/control/headless/state", HeadlessControlState)


async def _read(
    member: Member, gateway: LiveGateway, path: Path, shape: type[Shape], *, seconds: float = _SECONDS
) -> Shape:
    try:
        answer = await gateway.ask("GET", path, seconds=seconds)
    except GatewayLost as error:
        raise SilentGateway(f"{gateway} does not answer {path}; {again(member)}") from error
    if answer.status != _OK:
        said = answer.body[:_MAX_TOLD].decode(errors="replace")
        raise OtherGateway(f"{gateway} answers {path} with {answer.status}: {said}")
    try:
        return shape.model_validate_json(answer.body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise OtherGateway(
            f"{gateway} answers {path} in the shape of another version ({where}: {first['msg']}); "
            f"{again(member)}"
        ) from error
