"""Routes of our gateways that the published API does not know, reached through the server like the others."""

from posthouse.contracts import gateway_http as wire
from posthouse.contracts import gateway_notifier_http as notifier
from posthouse.contracts import gateway_receipts_http as receipts
from posthouse.contracts import gateway_tui_http as tui
from posthouse.server.gateways import ASK_SECONDS
from posthouse.server.http import forwarding

_NO_TUI = {422: "The agent is headless and has no TUI."}
_NO_REQUEST = {404: "There is no such request (any more)."}
_DISK = {503: "The disk refused; nothing was changed."}

ROUTES = (
    forwarding.route(
        "GET",
        "gateway/requests",
        "/v1/requests",
        "What became of requests, direct prompts and reminders, newest first.",
        query=receipts.ReceiptsQuery,
        response=receipts.ReceiptPage,
    ),
    forwarding.route(
        "GET",
        "gateway/requests/{request_id}",
        "/v1/requests/{request_id}",
        "What became of one request; waits for its end, or for a stage, if asked to.",
        query=receipts.WaitQuery,
        response=receipts.Receipt,
        waits=True,
        seconds=ASK_SECONDS + receipts.MAX_WAIT_SECONDS,
        own=_NO_REQUEST,
    ),
    forwarding.route(
        "DELETE",
        "gateway/requests/{request_id}",
        "/v1/requests/{request_id}",
        "Take back a request that the agent was not given yet.",
        response=receipts.Receipt,
        own={**_NO_REQUEST, 409: "It has started, or is over."},
    ),
    forwarding.route(
        "POST",
        "gateway/reconciliation",
        "/v1/reconciliation",
        "Decide whether an agent that was replaced gets the work that waited for the old one.",
        request=wire.ReconciliationRequest,
        response=wire.ReconciliationResult,
        own={409: "There is nothing to decide, or the agent was replaced once more."},
    ),
    forwarding.route(
        "GET",
        "gateway/tui/belief",
        "/v1/control/tui/belief",
        "What a TUI is believed to do, with all evidence and its age.",
        response=tui.TuiBelief,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/tui/answer",
        "/v1/control/tui/answer",
        "Answer the dialog that is open in a TUI.",
        request=tui.AnswerDialog,
        response=tui.DialogAnswered,
        own={409: "Nothing is asked, another dialog is open, or the terminal takes no keys."},
    ),
    forwarding.route(
        "GET",
        "gateway/tui/answer-rules",
        "/v1/control/tui/answer-rules",
        "Which dialogs are answered without asking.",
        response=tui.AnswerRules,
        own=_NO_TUI,
    ),
    forwarding.route(
        "PUT",
        "gateway/tui/answer-rules",
        "/v1/control/tui/answer-rules",
        "Say which dialogs are answered without asking; those given replace all.",
        request=tui.AnswerRules,
        response=tui.AnswerRules,
    ),
    forwarding.route(
        "GET",
        "gateway/tui/limit",
        "/v1/control/tui/limit",
        "Whether the queue waits for a usage limit to end.",
        response=tui.LimitState,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/tui/limit/resume",
        "/v1/control/tui/limit/resume",
        "Let the queue go on before a usage limit ends.",
        response=tui.LimitState,
        own={409: "No usage limit holds the queue.", **_NO_TUI},
    ),
    forwarding.route(
        "GET",
        "gateway/mail-notifier/wake",
        "/v1/mail-notifier/wake",
        "Whether mail wakes at once, and how often the same mail wakes again.",
        response=notifier.WakeSettings,
        own=_DISK,
    ),
    forwarding.route(
        "PUT",
        "gateway/mail-notifier/wake",
        "/v1/mail-notifier/wake",
        "Set whether mail wakes at once, and how often the same mail wakes again.",
        request=notifier.WakeSettings,
        response=notifier.WakeSettings,
        own=_DISK,
    ),
)
