"""The routes of direct control, headless control and the TUI."""

from pydantic import TypeAdapter
from starlette.responses import Response

from posthouse.contracts import gateway_control_http as wire
from posthouse.contracts import gateway_tui_http as tui_wire
from posthouse.contracts.gateway_http import SubmitPromptPayload
from posthouse.contracts.gateway_receipts_http import REQUEST_ID
from posthouse.gateway.http import idempotency
from posthouse.gateway.receipts.idempotency import DirectReply, key_of
from posthouse.gateway.service import Gateway
from posthouse.queue import IdempotencyKey
from posthouse.web.error_responses import StructuredError
from posthouse.web.route import Route, RouteInput

_PROMPT = "/v1/control/prompt"
_NOT_HEADLESS = {422: "The agent is a TUI.", 503: "The session's manifest can't be read."}
_NO_TUI = {422: "The agent is headless and has no TUI."}


async def control_prompt(gateway: Gateway, asked: RouteInput) -> Response:
    order: wire.ControlPrompt = asked.body
    key = key_of(idempotency.key_name(asked), _PROMPT, order)
    reply = await gateway.idempotency.once(key, lambda: _submit(gateway, order, key))
    headers = {REQUEST_ID: reply.request_id}
    return Response(reply.body, reply.status, headers, media_type="application/json")


async def _submit(gateway: Gateway, order: wire.ControlPrompt, key: IdempotencyKey | None) -> DirectReply:
    try:
        dispatched = await gateway.control.prompt(order, key)
    except StructuredError as rejected:
        if (request_id := rejected.headers.get(REQUEST_ID)) is None:
            raise
        return DirectReply(request_id=request_id, status=rejected.status, body=rejected.body())
    return DirectReply(
        request_id=dispatched.request_id, status=200, body=dispatched.response.model_dump_json()
    )


async def send_keys(gateway: Gateway, order: wire.SendKeys) -> wire.KeysSent:
    return await gateway.keys.send(order)


async def headless_state(gateway: Gateway, _: None) -> wire.HeadlessControlState:
    return await gateway.control.headless.state()


async def next_prompt_session(gateway: Gateway, order: wire.NextPromptSession) -> wire.HeadlessControlState:
    return await gateway.control.headless.override_next_prompt(order)


async def tui_state(gateway: Gateway, _: None) -> tui_wire.TerminalState:
    return await gateway.tui.state()


async def tui_belief(gateway: Gateway, _: None) -> tui_wire.TuiStateResponse:
    return await gateway.tui.inferred_state()


async def tui_answer(gateway: Gateway, order: tui_wire.AnswerDialog) -> tui_wire.DialogAnswered:
    return await gateway.answers.answer(order)


async def tui_answer_rules(gateway: Gateway, _: None) -> tui_wire.AnswerRules:
    gateway.tui.require_tui()
    return gateway.answer_rules.rules()


async def tui_set_answer_rules(gateway: Gateway, order: tui_wire.AnswerRules) -> tui_wire.AnswerRules:
    gateway.tui.require_tui()
    return gateway.answer_rules.replace(order)


async def tui_limit(gateway: Gateway, _: None) -> tui_wire.LimitState:
    gateway.tui.require_tui()
    return gateway.limits.state()


async def tui_resume(gateway: Gateway, _: None) -> tui_wire.LimitState:
    gateway.tui.require_tui()
    return gateway.limits.resume()


async def tui_history(gateway: Gateway, query: tui_wire.HistoryQuery) -> tui_wire.SnapshotHistory:
    return gateway.tui.history(query)


async def tui_note_prompt(gateway: Gateway, payload: SubmitPromptPayload) -> tui_wire.TerminalState:
    return await gateway.tui.note_prompt(payload)


ROUTES = (
    Route(
        method="POST",
        path=_PROMPT,
        summary="Give the agent a prompt now, bypassing the queue.",
        handler=control_prompt,
        request=TypeAdapter(wire.ControlPrompt),
        headers=idempotency.HEADERS,
        response_headers={REQUEST_ID: "Request id; GET /v1/requests/{request_id} returns its receipt."},
        response=wire.PromptSent,
        refusals={
            409: "The agent is busy, was replaced, or has no current conversation.",
            503: "The agent is not available.",
        },
        refusal=wire.PromptRefusal,
    ),
    Route(
        method="POST",
        path="/v1/control/send-keys",
        summary="Type raw keys into the agent's terminal.",
        handler=send_keys,
        request=TypeAdapter(wire.SendKeys),
        response=wire.KeysSent,
        refusals={
            409: "The agent was replaced, something is being typed, or the terminal takes no keys.",
            503: "The agent is not available.",
        },
    ),
    Route(
        method="GET",
        path="/v1/control/headless/state",
        summary="State of a headless agent and which operations it allows.",
        handler=headless_state,
        response=wire.HeadlessControlState,
        refusals=_NOT_HEADLESS,
    ),
    Route(
        method="POST",
        path="/v1/control/headless/next-prompt-session",
        summary="Make the next direct prompt without a chat_session start a new conversation.",
        handler=next_prompt_session,
        request=TypeAdapter(wire.NextPromptSession),
        response=wire.HeadlessControlState,
        refusals=_NOT_HEADLESS,
    ),
    Route(
        method="GET",
        path="/v1/control/tui/state",
        summary="Tracked state of a TUI with diagnostics.",
        handler=tui_state,
        response=tui_wire.TerminalState,
        refusals=_NO_TUI,
    ),
    Route(
        method="GET",
        path="/v1/control/tui/belief",
        summary="Inferred state of a TUI, with all evidence and its age.",
        handler=tui_belief,
        response=tui_wire.TuiStateResponse,
        refusals=_NO_TUI,
    ),
    Route(
        method="POST",
        path="/v1/control/tui/answer",
        summary="Answer the dialog that is open in a TUI.",
        handler=tui_answer,
        request=TypeAdapter(tui_wire.AnswerDialog),
        response=tui_wire.DialogAnswered,
        refusals={
            409: "No dialog is open, another dialog is open, or the terminal takes no keys.",
            422: "The dialog offers no such choice, or the agent is headless.",
            503: "The agent is not available.",
        },
    ),
    Route(
        method="GET",
        path="/v1/control/tui/answer-rules",
        summary="Rules for dialogs that are answered automatically.",
        handler=tui_answer_rules,
        response=tui_wire.AnswerRules,
        refusals=_NO_TUI,
    ),
    Route(
        method="PUT",
        path="/v1/control/tui/answer-rules",
        summary="Replace all rules for dialogs that are answered automatically.",
        handler=tui_set_answer_rules,
        request=TypeAdapter(tui_wire.AnswerRules),
        response=tui_wire.AnswerRules,
        refusals=_NO_TUI,
    ),
    Route(
        method="GET",
        path="/v1/control/tui/limit",
        summary="Usage limit that holds the queue, if any.",
        handler=tui_limit,
        response=tui_wire.LimitState,
        refusals=_NO_TUI,
    ),
    Route(
        method="POST",
        path="/v1/control/tui/limit/resume",
        summary="Resume the queue before a usage limit ends.",
        handler=tui_resume,
        response=tui_wire.LimitState,
        refusals={409: "No usage limit holds the queue.", **_NO_TUI},
    ),
    Route(
        method="GET",
        path="/v1/control/tui/history",
        summary="History of a TUI's tracked state, oldest first.",
        handler=tui_history,
        query=tui_wire.HistoryQuery,
        response=tui_wire.SnapshotHistory,
        refusals=_NO_TUI,
    ),
    Route(
        method="POST",
        path="/v1/control/tui/note-prompt",
        summary="Record a prompt that reached the TUI outside the gateway.",
        handler=tui_note_prompt,
        request=TypeAdapter(SubmitPromptPayload),
        response=tui_wire.TerminalState,
        refusals=_NO_TUI,
    ),
)
