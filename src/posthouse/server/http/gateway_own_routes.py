"""Gateway routes beyond the published API, forwarded by the server."""

from posthouse.contracts import gateway_http as wire
from posthouse.contracts import gateway_notifier_http as notifier
from posthouse.contracts import gateway_receipts_http as receipts
from posthouse.contracts import gateway_tui_http as tui
from posthouse.server.gateways import ASK_SECONDS
from posthouse.server.http import forwarding

_NO_TUI = {422: "The agent is headless and has no TUI."}
_NO_REQUEST = {404: "The request does not exist or was removed."}
_DISK = {503: "A disk error occurred; nothing was changed."}

ROUTES = (
    forwarding.route(
        "GET",
        "gateway/requests",
        "/v1/requests",
        "Receipts of requests, direct prompts and reminders, newest first.",
        query=receipts.ReceiptsQuery,
        response=receipts.ReceiptPage,
    ),
    forwarding.route(
        "GET",
        "gateway/requests/{request_id}",
        "/v1/requests/{request_id}",
        "Get the receipt of one request; optionally wait for its end or for a stage.",
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
        "Cancel a request that was not delivered to the agent yet.",
        response=receipts.Receipt,
        own={**_NO_REQUEST, 409: "It has started or ended."},
    ),
    forwarding.route(
        "POST",
        "gateway/reconciliation",
        "/v1/reconciliation",
        "Decide whether a new agent instance gets the work queued for the old one.",
        request=wire.ReconciliationRequest,
        response=wire.ReconciliationResult,
        own={409: "There is nothing to decide, or the agent was replaced again."},
    ),
    forwarding.route(
        "GET",
        "gateway/tui/belief",
        "/v1/control/tui/belief",
        "Inferred state of a TUI, with all evidence and its age.",
        response=tui.TuiStateResponse,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/tui/answer",
        "/v1/control/tui/answer",
        "Answer the dialog that is open in a TUI.",
        request=tui.AnswerDialog,
        response=tui.DialogAnswered,
        own={409: "No dialog or another dialog is open, or the terminal accepts no keys."},
    ),
    forwarding.route(
        "GET",
        "gateway/tui/answer-rules",
        "/v1/control/tui/answer-rules",
        "Rules for dialogs that are answered automatically.",
        response=tui.AnswerRules,
        own=_NO_TUI,
    ),
    forwarding.route(
        "PUT",
        "gateway/tui/answer-rules",
        "/v1/control/tui/answer-rules",
        "Replace all rules for dialogs that are answered automatically.",
        request=tui.AnswerRules,
        response=tui.AnswerRules,
    ),
    forwarding.route(
        "GET",
        "gateway/tui/limit",
        "/v1/control/tui/limit",
        "Usage limit that holds the queue, if any.",
        response=tui.LimitState,
        own=_NO_TUI,
    ),
    forwarding.route(
        "POST",
        "gateway/tui/limit/resume",
        "/v1/control/tui/limit/resume",
        "Resume the queue before a usage limit ends.",
        response=tui.LimitState,
        own={409: "No usage limit pauses the queue.", **_NO_TUI},
    ),
    forwarding.route(
        "GET",
        "gateway/mail-notifier/wake",
        "/v1/mail-notifier/wake",
        "Settings for immediate wake-ups and for the backoff of repeated ones.",
        response=notifier.WakeSettings,
        own=_DISK,
    ),
    forwarding.route(
        "PUT",
        "gateway/mail-notifier/wake",
        "/v1/mail-notifier/wake",
        "Replace the settings for immediate wake-ups and for the backoff of repeated ones.",
        request=notifier.WakeSettings,
        response=notifier.WakeSettings,
        own=_DISK,
    ),
)
