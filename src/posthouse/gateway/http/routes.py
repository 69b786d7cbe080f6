"""Every route of the gateway, in one table: the app is built from it and so is the OpenAPI document."""

from pydantic import TypeAdapter
from starlette.responses import Response

from posthouse.contracts import gateway_http as wire
from posthouse.gateway.control import routes as control_routes
from posthouse.gateway.http import idempotency, operations
from posthouse.gateway.http import stream as stream_routes
from posthouse.gateway.mail import routes as mail_routes
from posthouse.gateway.mail.notifier import routes as notifier_routes
from posthouse.gateway.receipts import routes as receipt_routes
from posthouse.gateway.receipts.idempotency import key_of
from posthouse.gateway.reminders import routes as reminder_routes
from posthouse.gateway.service import Gateway
from posthouse.web.route import Addressed, Route


async def health(gateway: Gateway, _: None) -> wire.Health:
    return gateway.health()


async def status(gateway: Gateway, _: None) -> wire.GatewayStatus:
    return gateway.status()


async def submit(gateway: Gateway, asked: Addressed) -> Response:
    request: wire.SubmitPromptRequest | wire.InterruptRequest = asked.body
    key = key_of(idempotency.named(asked), _REQUESTS, request)
    accepted = await gateway.submit(request, key=key)
    headers = {"Location": f"{_REQUESTS}/{accepted.request_id}"}
    return Response(accepted.model_dump_json(), 202, headers, media_type="application/json")


async def reconcile(gateway: Gateway, request: wire.ReconciliationRequest) -> wire.ReconciliationResult:
    return await gateway.reconcile(request)


_REQUESTS = "/v1/requests"

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
        path=_REQUESTS,
        summary="Accept a request. The answer means that it is on disk.",
        handler=submit,
        request=TypeAdapter(wire.Request),
        headers=idempotency.HEARD,
        gives={"Location": "Where to ask what becomes of it."},
        response=wire.AcceptedRequest,
        success=202,
        refusals={
            409: "The agent was replaced; somebody has to decide what becomes of its work.",
            429: "Too many requests wait already.",
            503: "The agent is not available, or the disk refused.",
        },
    ),
    Route(
        method="POST",
        path="/v1/reconciliation",
        summary="Decide whether an agent that was replaced gets the work that waited for the old one.",
        handler=reconcile,
        request=TypeAdapter(wire.ReconciliationRequest),
        response=wire.ReconciliationResult,
        refusals={
            409: "There is nothing to decide, or the agent was replaced once more.",
            503: "The disk refused; nothing is decided.",
        },
    ),
    *receipt_routes.ROUTES,
    *control_routes.ROUTES,
    *reminder_routes.ROUTES,
    *stream_routes.ROUTES,
    *operations.ROUTES,
    *mail_routes.ROUTES,
    *notifier_routes.ROUTES,
)
