"""Routes for receipts."""

from posthouse.contracts import gateway_receipts_http as wire
from posthouse.gateway.receipts import view
from posthouse.gateway.service import Gateway
from posthouse.queue import ReceiptFilter
from posthouse.web.route import Route, RouteInput

_ONE = "/v1/requests/{request_id}"
_UNKNOWN = {404: "The request does not exist, or is no longer stored."}
_DISK = {503: "A disk access failed."}


async def list_requests(gateway: Gateway, query: wire.ReceiptsQuery) -> wire.ReceiptPage:
    wanted = ReceiptFilter(
        state=query.state, kind=query.kind, since_utc=query.since, before=query.cursor, limit=query.limit
    )
    return view.page(await gateway.receipts.page(wanted))


async def get_request(gateway: Gateway, http: RouteInput) -> wire.Receipt:
    query: wire.WaitQuery = http.body
    receipt = await gateway.receipts.read(
        http.path_params["request_id"], until=query.until, wait_seconds=query.wait
    )
    return view.to_wire(receipt)


async def cancel_request(gateway: Gateway, http: RouteInput) -> wire.Receipt:
    return view.to_wire(await gateway.receipts.cancel(http.path_params["request_id"]))


ROUTES = (
    Route(
        method="GET",
        path="/v1/requests",
        summary="List receipts of requests, direct prompts and reminders, newest first.",
        handler=list_requests,
        query=wire.ReceiptsQuery,
        response=wire.ReceiptPage,
        refusals=_DISK,
    ),
    Route(
        method="GET",
        path=_ONE,
        summary="Get the receipt of one request; optionally wait for its end or for a stage.",
        handler=get_request,
        query=wire.WaitQuery,
        response=wire.Receipt,
        waits=True,
        refusals={**_UNKNOWN, 503: "Too many callers wait already, or a disk access failed."},
    ),
    Route(
        method="DELETE",
        path=_ONE,
        summary="Cancel a request that was not delivered to the agent yet.",
        handler=cancel_request,
        response=wire.Receipt,
        refusals={**_UNKNOWN, **_DISK, 409: "The request has started or ended."},
    ),
)
