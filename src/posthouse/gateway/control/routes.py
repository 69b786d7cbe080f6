"""The routes of direct control, headless control and the TUI."""

from pydantic import TypeAdapter
from starlette.responses import Response

from posthouse.contracts import gateway_control_http as wire
from posthouse.contracts import gateway_tui_http as tui_wire
from posthouse.contracts.gateway_http import SubmitPromptPayload
from posthouse.contracts.gateway_receipts_http import REQUEST_ID
from posthouse.gateway.http import idempotency
from posthouse.gateway.receipts.idempotency import Reply, key_of
from posthouse.gateway.service import Gateway
from posthouse.queue import Key
from posthouse.web.error_responses import Structured
from posthouse.web.route import Addressed, Route

_PROMPT = "/v1/control/prompt"
_NOT_HEADLESS = {422: "The agent is a TUI.", 503: "The session's manifest can't be read."}
_NO_TUI = {422: "The agent is headless and has no TUI."}


async def control_prompt(gateway: Gateway, asked: Addressed) -> Response:
    order: wire.ControlPrompt = asked.body
    key = key_of(idempotency.named(asked), _PROMPT, order)
    reply = await gateway.repeats.once(key, lambda: _give(gateway, order, key))
    headers = {REQUEST_ID: reply.request_id}
    return Response(reply.body, reply.status, headers, media_type="application/json")


async def _give(gateway: Gateway, order: wire.ControlPrompt, key: Key | None) -> Reply:
    try:
        given = await gateway.control.prompt(order, key)
    except Structured as refused:
        if (request_id := refused.headers.get(REQUEST_ID)) is None:
            raise
        return Reply(request_id=request_id, status=refused.status, body=refused.body())
    return Reply(request_id=given.request_id, status=200, body=given.answer.model_dump_json())


async def send_keys(gateway: Gateway, order: wire.SendKeys) -> wire.KeysSent:
    return await gateway.keys.send(order)


async def headless_state(gateway: Gateway, _: None) -> wire.HeadlessControlState:
    return await gateway.control.headless.state()


async def next_prompt_session(gateway: Gateway, order: wire.NextPromptSession) -> wire.HeadlessControlState:
    return await gateway.control.headless.override(order)


async def tui_state(gateway: Gateway, _: None) -> tui_wire.TerminalState:
    return await gateway.tui.state()


async def tui_belief(gateway: Gateway, _: None) -> tui_wire.TuiBelief:
    return await gateway.tui.belief()


async def tui_answer(gateway: Gateway, order: tui_wire.AnswerDialog) -> tui_wire.DialogAnswered:
    return await gateway.answers.answer(order)


async def tui_answer_rules(gateway: Gateway, _: None) -> tui_wire.AnswerRules:
    gateway.tui.require()
    return gateway.answer_rules.listed()


async def tui_set_answer_rules(gateway: Gateway, order: tui_wire.AnswerRules) -> tui_wire.AnswerRules:
    gateway.tui.require()
    return gateway.answer_rules.replace(order)


async def tui_limit(gateway: Gateway, _: None) -> tui_wire.LimitState:
    gateway.tui.require()
    return gateway.limits.state()


async def tui_resume(gateway: Gateway, _: None) -> tui_wire.LimitState:
    gateway.tui.require()
    return gateway.limits.resume()


async def tui_history(gateway: Gateway, query: tui_wire.HistoryQuery) -> tui_wire.SnapshotHistory:
    return gateway.tui.history(query)


async def tui_note_prompt(gateway: Gateway, payload: SubmitPromptPayload) -> tui_wire.TerminalState:
    return await gateway.tui.note_prompt(payload)


ROUTES = (
    Route(
        method="POST",
        path=_PROMPT,
        summary="Give the agent a prompt now, or say why not.",
        handler=control_prompt,
        request=TypeAdapter(wire.ControlPrompt),
        headers=idempotency.HEARD,
        gives={REQUEST_ID: "The id under which GET /v1/requests/{request_id} tells what becomes of it."},
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
        summary="What a headless agent can be asked right now.",
        handler=headless_state,
        response=wire.HeadlessControlState,
        refusals=_NOT_HEADLESS,
    ),
    Route(
        method="POST",
        path="/v1/control/headless/next-prompt-session",
        summary="Let the next direct prompt that asks for no conversation start a new one.",
        handler=next_prompt_session,
        request=TypeAdapter(wire.NextPromptSession),
        response=wire.HeadlessControlState,
        refusals=_NOT_HEADLESS,
    ),
    Route(
        method="GET",
        path="/v1/control/tui/state",
        summary="How a TUI stands, and how that is known.",
        handler=tui_state,
        response=tui_wire.TerminalState,
        refusals=_NO_TUI,
    ),
    Route(
        method="GET",
        path="/v1/control/tui/belief",
        summary="What a TUI is believed to do, with all evidence and its age.",
        handler=tui_belief,
        response=tui_wire.TuiBelief,
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
            409: "Nothing is asked, another dialog is open, or the terminal takes no keys.",
            422: "The dialog offers no such choice, or the agent is headless.",
            503: "The agent is not available.",
        },
    ),
    Route(
        method="GET",
        path="/v1/control/tui/answer-rules",
        summary="Which dialogs are answered without asking.",
        handler=tui_answer_rules,
        response=tui_wire.AnswerRules,
        refusals=_NO_TUI,
    ),
    Route(
        method="PUT",
        path="/v1/control/tui/answer-rules",
        summary="Say which dialogs are answered without asking; those given replace all.",
        handler=tui_set_answer_rules,
        request=TypeAdapter(tui_wire.AnswerRules),
        response=tui_wire.AnswerRules,
        refusals=_NO_TUI,
    ),
    Route(
        method="GET",
        path="/v1/control/tui/limit",
        summary="Whether the queue waits for a usage limit to end.",
        handler=tui_limit,
        response=tui_wire.LimitState,
        refusals=_NO_TUI,
    ),
    Route(
        method="POST",
        path="/v1/control/tui/limit/resume",
        summary="Let the queue go on before a usage limit ends.",
        handler=tui_resume,
        response=tui_wire.LimitState,
        refusals={409: "No usage limit holds the queue.", **_NO_TUI},
    ),
    Route(
        method="GET",
        path="/v1/control/tui/history",
        summary="How a TUI stood, oldest first.",
        handler=tui_history,
        query=tui_wire.HistoryQuery,
        response=tui_wire.SnapshotHistory,
        refusals=_NO_TUI,
    ),
    Route(
        method="POST",
        path="/v1/control/tui/note-prompt",
        summary="Take note of a prompt that somebody gave the TUI by another way.",
        handler=tui_note_prompt,
        request=TypeAdapter(SubmitPromptPayload),
        response=tui_wire.TerminalState,
        refusals=_NO_TUI,
    ),
)
