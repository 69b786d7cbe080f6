"""What each route of the server needs of a token."""

from posthouse.server.http.routes import ROUTES

AGENT = "/houmao/agents/{agent_ref}"
#: To look.
READ = {
    "GET /health",
    "GET /ready",
    "GET /metrics",
    "GET /openapi.json",
    "GET /docs",
    "GET /houmao/server/current-instance",
    "GET /houmao/events",
    "GET /houmao/agents",
    f"GET {AGENT}",
    f"GET {AGENT}/state",
    f"GET {AGENT}/state/detail",
    f"GET {AGENT}/history",
    f"GET {AGENT}/managed-state",
    f"GET {AGENT}/managed-state/detail",
    f"GET {AGENT}/managed-history",
    f"GET {AGENT}/gateway",
    f"GET {AGENT}/gateway/control/headless/state",
    f"GET {AGENT}/gateway/tui/state",
    f"GET {AGENT}/gateway/tui/history",
    f"GET {AGENT}/gateway/tui/belief",
    f"GET {AGENT}/gateway/tui/answer-rules",
    f"GET {AGENT}/gateway/tui/limit",
    f"GET {AGENT}/gateway/requests",
    f"GET {AGENT}/gateway/requests/{{request_id}}",
    f"GET {AGENT}/gateway/mail-notifier/wake",
    f"GET {AGENT}/gateway/mail-notifier",
    f"GET {AGENT}/gateway/reminders",
    f"GET {AGENT}/gateway/reminders/{{reminder_id}}",
    f"GET {AGENT}/mail/resolve-live",
    f"GET {AGENT}/mail/status",
    f"POST {AGENT}/mail/list",
    f"POST {AGENT}/mail/peek",
    f"POST {AGENT}/mail/thread",
    f"POST {AGENT}/mail/search",
    f"POST {AGENT}/mail/progress",
    f"GET {AGENT}/turns/{{turn_id}}",
    f"GET {AGENT}/turns/{{turn_id}}/events",
    f"GET {AGENT}/turns/{{turn_id}}/artifacts/stdout",
    f"GET {AGENT}/turns/{{turn_id}}/artifacts/stderr",
}
#: To change which agents there are, or to end the server.
ADMIN = {
    "POST /houmao/server/shutdown",
    "POST /houmao/agents/headless/launches",
    f"POST {AGENT}/stop",
}
#: To have an agent do something.
PROMPT = {
    f"POST {AGENT}/requests",
    f"POST {AGENT}/turns",
    f"POST {AGENT}/interrupt",
    f"POST {AGENT}/gateway/attach",
    f"POST {AGENT}/gateway/detach",
    f"POST {AGENT}/gateway/control/prompt",
    f"POST {AGENT}/gateway/control/send-keys",
    f"POST {AGENT}/gateway/control/headless/next-prompt-session",
    f"POST {AGENT}/gateway/tui/note-prompt",
    f"POST {AGENT}/gateway/tui/answer",
    f"PUT {AGENT}/gateway/tui/answer-rules",
    f"POST {AGENT}/gateway/tui/limit/resume",
    f"POST {AGENT}/gateway/requests",
    f"DELETE {AGENT}/gateway/requests/{{request_id}}",
    f"POST {AGENT}/gateway/reconciliation",
    f"PUT {AGENT}/gateway/mail-notifier/wake",
    f"PUT {AGENT}/gateway/mail-notifier",
    f"DELETE {AGENT}/gateway/mail-notifier",
    f"POST {AGENT}/gateway/reminders",
    f"PUT {AGENT}/gateway/reminders/{{reminder_id}}",
    f"DELETE {AGENT}/gateway/reminders/{{reminder_id}}",
    f"POST {AGENT}/mail/read",
    f"POST {AGENT}/mail/send",
    f"POST {AGENT}/mail/post",
    f"POST {AGENT}/mail/reply",
    f"POST {AGENT}/mail/mark",
    f"POST {AGENT}/mail/move",
    f"POST {AGENT}/mail/archive",
}


def test_every_route_has_the_scope_that_was_decided_for_it() -> None:
    """A new route is a decision about who may call it from beyond this machine."""
    expected = dict.fromkeys(READ, "read") | dict.fromkeys(PROMPT, "prompt") | dict.fromkeys(ADMIN, "admin")

    assert {f"{route.method} {route.path}": route.required_scope for route in ROUTES} == expected
