"""The routes of receipts."""

from posthouse.contracts import gateway_receipts_http as wire
from posthouse.gateway.receipts import view
from posthouse.gateway.service import Gateway
from posthouse.queue import Filter
from posthouse.web.route import Addressed, Route

_ONE = "/v1/requests/{request_id}"
_UNKNOWN = {404: "There is no such request (any more)."}
_DISK = {503: "The disk refused."}


async def list_requests(gateway: Gateway, query: wire.ReceiptsQuery) -> wire.ReceiptPage:
    wanted = Filter(
        state=query.state, kind=query.kind, since_utc=query.since, before=query.cursor, limit=query.limit
    )
    return view.page(await gateway.book.page(wanted))


async def get_request(gateway: Gateway, asked: Addressed) -> wire.Receipt:
    query: wire.WaitQuery = asked.body
    receipt = await gateway.book.read(asked.names["request_id"], until=query.until, wait_seconds=query.wait)
    return view.shown(receipt)


async def cancel_request(gateway: Gateway, asked: Addressed) -> wire.Receipt:
    return view.shown(await gateway.book.cancel(asked.names["request_id"]))


ROUTES = (
    Route(
        method="GET",
        path="/v1/requests",
        summary="What became of requests, direct prompts and reminders, newest first.",
        handler=list_requests,
        query=wire.ReceiptsQuery,
        response=wire.ReceiptPage,
        refusals=_DISK,
    ),
    Route(
        method="GET",
        path=_ONE,
        summary="What became of one request; waits for its end, or for a stage, if asked to.",
        handler=get_request,
        query=wire.WaitQuery,
        response=wire.Receipt,
        waits=True,
        refusals={**_UNKNOWN, 503: "Too many wait already, or the disk refused."},
    ),
    Route(
        method="DELETE",
        path=_ONE,
        summary="Take back a request that the agent was not given yet.",
        handler=cancel_request,
        response=wire.Receipt,
        refusals={**_UNKNOWN, **_DISK, 409: "It has started, or is over."},
    ),
)
