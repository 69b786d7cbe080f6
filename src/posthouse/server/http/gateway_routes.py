"""The published routes of an agent's gateway, addressed by agent instead of by port.

The server locates the gateway and checks that it is live; the gateway handles the request.
"""

from pydantic import RootModel
from starlette.responses import JSONResponse, Response

from posthouse.contracts import gateway_control_http as control
from posthouse.contracts import gateway_http as wire
from posthouse.contracts import gateway_notifier_http as notifier
from posthouse.contracts import gateway_receipts_http as receipts
from posthouse.contracts import gateway_reminders_http as reminders
from posthouse.contracts import gateway_tui_http as tui
from posthouse.contracts.managed_agents_http import Ambiguous
from posthouse.server.gateways import BadGatewayResponse, GatewayLost, NoLiveGateway, gateway_command
from posthouse.server.http import forwarding
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.offline import status_of
from posthouse.server.service import ServerService
from posthouse.web.route import Route, RouteInput

_GATEWAY = f"{AGENT}/gateway"
_IDEMPOTENCY_HEADER = {
    "idempotency-key": "Passed to the gateway: a repeat with the same key returns the first response."
}
_RECEIPT_HEADER = {receipts.REQUEST_ID: "The id of the receipt at gateway/requests/{request_id}."}
_DISK = {503: "A disk error occurred; nothing was changed."}
_NOT_HEADLESS = {422: "The agent is a TUI."}
_NO_TUI = {422: "The agent is headless and has no TUI."}
_UNKNOWN = {404: "The reminder does not exist."}


class PromptRefusal(RootModel[control.PromptRefusal | Ambiguous]):
    """Why a prompt was not delivered: rejected by the gateway, or the gateway could not be used."""


async def gateway_status(server: ServerService, inputs: RouteInput) -> Response:
    member = server.member(inputs.path_params["agent_ref"])
    try:
        gateway = await server.gateways.require(member)
        return forwarding.to_response(await gateway.request("GET", "/v1/status"), inputs)
    except (NoLiveGateway, GatewayLost, BadGatewayResponse):
        return JSONResponse(await status_of(member))


async def attach_gateway(server: ServerService, inputs: RouteInput) -> wire.Refusal:
    return _local_only(server, inputs, "attach")


async def detach_gateway(server: ServerService, inputs: RouteInput) -> wire.Refusal:
    return _local_only(server, inputs, "detach")


def _local_only(server: ServerService, inputs: RouteInput, verb: str) -> wire.Refusal:
    member = server.member(inputs.path_params["agent_ref"])
    return wire.Refusal(
        detail=f"gateways are {verb}ed on the agent's machine: {gateway_command(member, verb)}"
    )


ROUTES = (
    Route(
        method="GET",
        path=_GATEWAY,
        summary="The status of the agent's gateway; the offline status without a live one.",
        handler=gateway_status,
        response=wire.GatewayStatus,
        refusals=FINDING,
        refusal=Ambiguous,
    ),
    *(
        Route(
            method="POST",
            path=f"{_GATEWAY}/{handler.__name__.removesuffix('_gateway')}",
            summary="Not supported remotely; returns the command to run on the agent's machine.",
            handler=handler,
            response=wire.Refusal,
            success=501,
            refusals=FINDING,
            refusal=Ambiguous,
        )
        for handler in (attach_gateway, detach_gateway)
    ),
    forwarding.route(
        "POST",
        "gateway/control/prompt",
        "/v1/control/prompt",
        "Give the agent a prompt now, bypassing the queue.",
        request=control.ControlPrompt,
        response=control.PromptSent,
        own={409: "The agent is busy, was replaced, or has no current conversation."},
        refusal=PromptRefusal,
        headers=_IDEMPOTENCY_HEADER,
        response_headers=_RECEIPT_HEADER,
    ),
    forwarding.route(
        "POST",
        "gateway/control/send-keys",
        "/v1/control/send-keys",
        "Type raw keys into the agent's terminal.",
        request=control.SendKeys,
        response=control.KeysSent,
        own={409: "The agent was replaced, a prompt is being typed, or the terminal accepts no keys."},
    ),
    forwarding.route(
        "GET",
        "gateway/control/headless/state",
        "/v1/control/headless/state",
        "State of a headless agent and which operations it allows.",
        response=control.HeadlessControlState,
        own=_NOT_HEADLESS,
    ),
    forwarding.route(
        "POST",
        "gateway/control/headless/next-prompt-session",
        "/v1/control/headless/next-prompt-session",
        "Make the next direct prompt without a chat_session start a new conversation.",
        request=control.NextPromptSession,
        response=control.HeadlessControlState,
        own=_NOT_HEADLESS,
    ),
    forwarding.route(
        "GET",
        "gateway/tui/state",
        "/v1/control/tui/state",
        "Tracked state of a TUI with diagnostics.",
        response=tui.TerminalState,
        own=_NO_TUI,
    ),
    forwarding.route(
        "GET",
        "gateway/tui/history",
        "/v1/control/tui/history",
        "History of a TUI's tracked state, oldest first.",
        query=tui.HistoryQuery,
        response=tui.SnapshotHistory,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/tui/note-prompt",
        "/v1/control/tui/note-prompt",
        "Record a prompt that reached the TUI outside the gateway.",
        request=wire.SubmitPromptPayload,
        response=tui.TerminalState,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/requests",
        "/v1/requests",
        "Submit a request to the gateway. It is on disk when the response arrives.",
        request=wire.Request,
        response=wire.AcceptedRequest,
        success=202,
        own={
            409: "The agent was replaced; reconciliation has to decide about its work.",
            429: "Too many requests are queued.",
        },
        headers=_IDEMPOTENCY_HEADER,
        response_headers={"Location": "The URL of the request's receipt."},
    ),
    forwarding.route(
        "GET",
        "gateway/mail-notifier",
        "/v1/mail-notifier",
        "Settings and status of the mail notifier.",
        response=notifier.NotifierStatus,
        own=_DISK,
    ),
    forwarding.route(
        "PUT",
        "gateway/mail-notifier",
        "/v1/mail-notifier",
        "Enable the mail notifier; the first poll runs after one interval.",
        request=notifier.PutNotifier,
        response=notifier.NotifierStatus,
        own={**_DISK, 502: "Mail storage failed or timed out."},
    ),
    forwarding.route(
        "DELETE",
        "gateway/mail-notifier",
        "/v1/mail-notifier",
        "Disable the mail notifier. Settings are kept, except the interval.",
        response=notifier.NotifierStatus,
        own=_DISK,
    ),
    forwarding.route(
        "GET",
        "gateway/reminders",
        "/v1/reminders",
        "All reminders in delivery order.",
        response=reminders.Reminders,
    ),
    forwarding.route(
        "POST",
        "gateway/reminders",
        "/v1/reminders",
        "Create reminders, all or none. They are lost when the gateway ends.",
        request=reminders.CreateReminders,
        response=reminders.Reminders,
        own={409: "The limit of reminders is exceeded."},
    ),
    forwarding.route(
        "GET",
        "gateway/reminders/{reminder_id}",
        "/v1/reminders/{reminder_id}",
        "One reminder.",
        response=reminders.Reminder,
        own=_UNKNOWN,
    ),
    forwarding.route(
        "PUT",
        "gateway/reminders/{reminder_id}",
        "/v1/reminders/{reminder_id}",
        "Replace a reminder's definition; its schedule restarts now.",
        request=reminders.PutReminder,
        response=reminders.Reminder,
        own={**_UNKNOWN, 409: "It is being delivered."},
    ),
    forwarding.route(
        "DELETE",
        "gateway/reminders/{reminder_id}",
        "/v1/reminders/{reminder_id}",
        "Delete a reminder. A delivery in progress is completed.",
        response=reminders.ReminderDeleted,
        own=_UNKNOWN,
    ),
)
