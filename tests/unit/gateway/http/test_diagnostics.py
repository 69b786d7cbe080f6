"""What the diagnostic log says of HTTP."""

import asyncio
import json
from pathlib import Path
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from posthouse.events.journal import Journal
from posthouse.gateway.diagnostics import DiagnosticLog, NoDiagnostics
from posthouse.gateway.files import Publisher, live_attach
from posthouse.gateway.http import app
from posthouse.gateway.http.diagnostics import CompletionLog, with_completion_log
from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.queue import open_queue
from posthouse.sessions.session import Session
from posthouse.support.process_log import close_log, open_log
from posthouse.testing.fake_mailbox import FakeMailbox
from posthouse.testing.gateway import FakeAgent, call

SECRET = "whisper-7c2"


def entries(path: Path) -> list[dict[str, Any]]:
    told = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        {name: value for name, value in one.items() if name not in ("timestamp_utc", "duration_ms")}
        for one in told
    ]


def test_answers_and_refused_bodies_are_noted_and_nobodys_words(made_session: Session) -> None:
    """Which route, which status, which fields were wrong; never what was in them."""
    root = made_session.gateway_root
    path = root / "diagnostic.log"

    async def story() -> None:
        log, binding = open_log(root / "logs/gateway.log"), Binding(host="127.0.0.1", port=1)
        attach, agent = live_attach(made_session, binding), FakeAgent()
        agent.appear()
        gateway = Gateway(
            attach=attach,
            binding=binding,
            queue=await open_queue(root / "queue.sqlite"),
            adapter=agent,
            journal=Journal(root / "events.jsonl"),
            publisher=Publisher(made_session, attach, binding, log),
            open_mailbox=lambda binding: FakeMailbox(),
            log=log,
            diagnostics=DiagnosticLog(path, max_bytes=1 << 20, backups=1),
        )
        await gateway.start()
        served = app.build(gateway)
        good = {"kind": "submit_prompt", "payload": {"prompt": SECRET}}
        bad = {"kind": "submit_prompt", "payload": {"prompt": 5, "words": SECRET}}
        for body in (good, bad, bad):
            await call(served, "POST", "/v1/requests", body, headers={"cookie": SECRET})
        await call(served, "GET", "/health", headers={"host": "evil.example"})
        await call(served, "POST", "/v1/reconciliation", {"decision": "replay"})
        await gateway.stop()
        close_log(log)

    asyncio.run(story())

    frame = {"schema_version": 1}
    route = {"method": "POST", "path": "/v1/requests"}

    def completed(status: int) -> dict[str, Any]:
        return {**frame, **route, "level": "info", "event": "gateway.http_completed", "status_code": status}

    told = [one for one in entries(path) if one["event"] != "diagnostic.dedup_summary"]
    assert told == [
        completed(202),
        {
            **frame,
            **route,
            "level": "warning",
            "event": "gateway.http_validation_failed",
            "problem_count": 2,
            "problems": [
                {"type": "string_type", "loc": ["body", "submit_prompt", "payload", "prompt"]},
                {"type": "extra_forbidden", "loc": ["body", "submit_prompt", "payload", "words"]},
            ],
        },
        completed(422),
        completed(422),
        {**completed(403), "method": "GET", "path": "/health"},
        {
            **frame,
            "method": "POST",
            "path": "/v1/reconciliation",
            "level": "warning",
            "event": "gateway.request_refused",
            "error_code": "nothing_to_decide",
        },
        {**completed(409), "path": "/v1/reconciliation"},
    ]
    (summary,) = [one for one in entries(path) if one not in told]
    assert (summary["suppressed_count"], summary["first_event"]) == (1, "gateway.http_validation_failed")
    assert SECRET not in path.read_text()


def test_a_crash_is_noted_as_an_error(tmp_path: Path) -> None:
    """Even when no answer was begun."""
    path = tmp_path / "d.log"

    async def crash(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("broken")

    async def story() -> None:
        log = DiagnosticLog(path, max_bytes=1 << 20, backups=1)

        async def receive() -> Message:
            return {"type": "http.request"}

        async def send(message: Message) -> None:
            raise AssertionError(message)

        try:
            await CompletionLog(crash, log)({"type": "http", "method": "GET", "path": "/x"}, receive, send)
        except RuntimeError:
            log.close()

    asyncio.run(story())

    (entry,) = entries(path)
    assert (entry["level"], entry["status_code"], entry["path"]) == ("error", None, "/x")


def test_without_a_diagnostic_log_requests_cost_nothing_more() -> None:
    """Nothing stands between the server and the application."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve nothing."""

    assert with_completion_log(served, NoDiagnostics()) is served
