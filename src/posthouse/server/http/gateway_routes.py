"""The routes of an agent's gateway, for callers that know the agent's name and not the gateway's port.

Only where the gateway is, and whether it lives, is decided here; everything else it decides itself.
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
from posthouse.server.gateways import GatewayGarbled, GatewayLost, NoLiveGateway, command
from posthouse.server.http import forwarding
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.offline import status_of
from posthouse.server.service import Coordination
from posthouse.web.route import Addressed, Route

_GATEWAY = f"{AGENT}/gateway"
_REPEATS = {"idempotency-key": "As the gateway hears it: a repeat under the same key gets the first answer."}
_TOLD_BY = {receipts.REQUEST_ID: "The id under which gateway/requests/{request_id} tells what becomes of it."}
_DISK = {503: "The disk refused; nothing was changed."}
_NOT_HEADLESS = {422: "The agent is a TUI."}
_NO_TUI = {422: "The agent is headless and has no TUI."}
_UNKNOWN = {404: "There is no such reminder."}


class PromptRefusal(RootModel[control.PromptRefusal | Ambiguous]):
    """Why a prompt was not given: by the gateway, or because no gateway could be asked."""


async def gateway_status(server: Coordination, asked: Addressed) -> Response:
    member = server.member(asked.names["agent_ref"])
    try:
        gateway = await server.gateways.needed(member)
        return forwarding.passed_on(await gateway.ask("GET", "/v1/status"), asked)
    except (NoLiveGateway, GatewayLost, GatewayGarbled):
        return JSONResponse(await status_of(member))


async def attach_gateway(server: Coordination, asked: Addressed) -> wire.Refusal:
    return _only_there(server, asked, "attach")


async def detach_gateway(server: Coordination, asked: Addressed) -> wire.Refusal:
    return _only_there(server, asked, "detach")


def _only_there(server: Coordination, asked: Addressed, verb: str) -> wire.Refusal:
    member = server.member(asked.names["agent_ref"])
    return wire.Refusal(
        detail=f"gateways are {verb}ed on the machine that the agent lives on: {command(member, verb)}"
    )


ROUTES = (
    Route(
        method="GET",
        path=_GATEWAY,
        summary="How the agent's gateway is; without a live one, the status of having none.",
        handler=gateway_status,
        response=wire.GatewayStatus,
        refusals=FINDING,
        refusal=Ambiguous,
    ),
    *(
        Route(
            method="POST",
            path=f"{_GATEWAY}/{handler.__name__.removesuffix('_gateway')}",
            summary="Not done from afar; says which command does it on the agent's machine.",
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
        "Give the agent a prompt now, or say why not.",
        request=control.ControlPrompt,
        response=control.PromptSent,
        own={409: "The agent is busy, was replaced, or has no current conversation."},
        refusal=PromptRefusal,
        headers=_REPEATS,
        gives=_TOLD_BY,
    ),
    forwarding.route(
        "POST",
        "gateway/control/send-keys",
        "/v1/control/send-keys",
        "Type raw keys into the agent's terminal.",
        request=control.SendKeys,
        response=control.KeysSent,
        own={409: "The agent was replaced, something is being typed, or the terminal takes no keys."},
    ),
    forwarding.route(
        "GET",
        "gateway/control/headless/state",
        "/v1/control/headless/state",
        "What a headless agent can be asked right now.",
        response=control.HeadlessControlState,
        own=_NOT_HEADLESS,
    ),
    forwarding.route(
        "POST",
        "gateway/control/headless/next-prompt-session",
        "/v1/control/headless/next-prompt-session",
        "Let the next direct prompt that asks for no conversation start a new one.",
        request=control.NextPromptSession,
        response=control.HeadlessControlState,
        own=_NOT_HEADLESS,
    ),
    forwarding.route(
        "GET",
        "gateway/tui/state",
        "/v1/control/tui/state",
        "How a TUI stands, and how that is known.",
        response=tui.TerminalState,
        own=_NO_TUI,
    ),
    forwarding.route(
        "GET",
        "gateway/tui/history",
        "/v1/control/tui/history",
        "How a TUI stood, oldest first.",
        query=tui.HistoryQuery,
        response=tui.SnapshotHistory,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/tui/note-prompt",
        "/v1/control/tui/note-prompt",
        "Take note of a prompt that somebody gave the TUI by another way.",
        request=wire.SubmitPromptPayload,
        response=tui.TerminalState,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/requests",
        "/v1/requests",
        "Have the gateway accept a request. The answer means that it is on disk.",
        request=wire.Request,
        response=wire.AcceptedRequest,
        success=202,
        own={
            409: "The agent was replaced; somebody has to decide what becomes of its work.",
            429: "Too many requests wait already.",
        },
        headers=_REPEATS,
        gives={"Location": "Where to ask what becomes of it."},
    ),
    forwarding.route(
        "GET",
        "gateway/mail-notifier",
        "/v1/mail-notifier",
        "How the agent is woken for its mail.",
        response=notifier.NotifierStatus,
        own=_DISK,
    ),
    forwarding.route(
        "PUT",
        "gateway/mail-notifier",
        "/v1/mail-notifier",
        "Wake the agent for its mail; the first look comes one interval later.",
        request=notifier.PutNotifier,
        response=notifier.NotifierStatus,
        own={**_DISK, 502: "Storage failed, or did not answer in time."},
    ),
    forwarding.route(
        "DELETE",
        "gateway/mail-notifier",
        "/v1/mail-notifier",
        "Wake the agent no more. What was set stays, the interval excepted.",
        response=notifier.NotifierStatus,
        own=_DISK,
    ),
    forwarding.route(
        "GET",
        "gateway/reminders",
        "/v1/reminders",
        "All reminders, in the order in which they come.",
        response=reminders.Reminders,
    ),
    forwarding.route(
        "POST",
        "gateway/reminders",
        "/v1/reminders",
        "Keep new reminders, all or none. They are lost when the gateway ends.",
        request=reminders.CreateReminders,
        response=reminders.Reminders,
        own={409: "There is no room for so many."},
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
        "Give a reminder a whole new definition; its time counts from now.",
        request=reminders.PutReminder,
        response=reminders.Reminder,
        own={**_UNKNOWN, 409: "It is being delivered right now."},
    ),
    forwarding.route(
        "DELETE",
        "gateway/reminders/{reminder_id}",
        "/v1/reminders/{reminder_id}",
        "Forget a reminder. What is being delivered goes on to its end.",
        response=reminders.ReminderDeleted,
        own=_UNKNOWN,
    ),
)
