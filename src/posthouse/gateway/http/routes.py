"""The route table of the gateway: the source of the app and of the OpenAPI document."""

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
from posthouse.web.route import Route, RouteInput


async def health(gateway: Gateway, _: None) -> wire.Health:
    return gateway.health()


async def status(gateway: Gateway, _: None) -> wire.GatewayStatus:
    return gateway.status()


async def submit(gateway: Gateway, http: RouteInput) -> Response:
    request: wire.SubmitPromptRequest | wire.InterruptRequest = http.body
    key = key_of(idempotency.key_name(http), _REQUESTS, request)
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
        summary="Check that the gateway is alive, regardless of its agent.",
        handler=health,
        response=wire.Health,
    ),
    Route(
        method="GET",
        path="/v1/status",
        summary="Status of the gateway, its agent and its queue.",
        handler=status,
        response=wire.GatewayStatus,
    ),
    Route(
        method="POST",
        path=_REQUESTS,
        summary="Accept a request. It is on disk when the response is sent.",
        handler=submit,
        request=TypeAdapter(wire.Request),
        headers=idempotency.HEADERS,
        response_headers={"Location": "Where to ask what becomes of it."},
        response=wire.AcceptedRequest,
        success=202,
        refusals={
            409: "The agent was replaced; its queued work needs a reconciliation decision.",
            429: "The queue is full.",
            503: "The agent is not available, or a disk write failed.",
        },
    ),
    Route(
        method="POST",
        path="/v1/reconciliation",
        summary="Decide whether a new agent instance gets the work queued for the old one.",
        handler=reconcile,
        request=TypeAdapter(wire.ReconciliationRequest),
        response=wire.ReconciliationResult,
        refusals={
            409: "There is nothing to decide, or the agent was replaced again.",
            503: "A disk write failed; nothing is decided.",
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
