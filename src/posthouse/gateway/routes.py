"""Every route of the gateway, in one table: the app is built from it and so is the OpenAPI document."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, TypeAdapter

from posthouse.contracts import gateway_http as wire
from posthouse.gateway.service import Gateway

Handler = Callable[[Gateway, Any], Awaitable[BaseModel]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path: what it takes, what it gives, how it refuses."""

    method: str
    path: str
    summary: str
    handler: Handler
    response: type[BaseModel]
    #: None: the route takes no body.
    request: TypeAdapter[Any] | None = None
    success: int = 200
    #: Status to reason, beyond what every route may answer.
    refusals: Mapping[int, str] = field(default_factory=dict)


async def health(gateway: Gateway, _: None) -> wire.Health:
    return gateway.health()


async def status(gateway: Gateway, _: None) -> wire.GatewayStatus:
    return gateway.status()


async def submit(gateway: Gateway, request: wire.Request) -> wire.AcceptedRequest:
    return await gateway.submit(request)


ROUTES = (
    Route(
        method="GET",
        path="/health",
        summary="Is this gateway alive? Says nothing about its agent.",
        handler=health,
        response=wire.Health,
    ),
    Route(
        method="GET",
        path="/v1/status",
        summary="How the gateway, its agent and its queue are.",
        handler=status,
        response=wire.GatewayStatus,
    ),
    Route(
        method="POST",
        path="/v1/requests",
        summary="Accept a request. The answer means that it is on disk.",
        handler=submit,
        request=TypeAdapter(wire.Request),
        response=wire.AcceptedRequest,
        success=202,
        refusals={
            409: "The agent was replaced; somebody has to decide what becomes of its work.",
            503: "The agent is not available, or the disk refused.",
        },
    ),
)
