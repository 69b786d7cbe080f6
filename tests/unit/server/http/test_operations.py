"""What a server tells its operators, without a socket."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from starlette.types import ASGIApp

from posthouse.contracts import names
from posthouse.contracts.managed_agents_http import ServerInstance
from posthouse.contracts.registry import Record
from posthouse.server.http import app
from posthouse.server.service import ServerService
from posthouse.terminal.client import Server
from posthouse.testing.gateway import Answer, call
from posthouse.testing.members import record
from posthouse.testing.scripted_agents import house_in

AT = "2026-11-15T10:00:00+00:00"


def served(
    folder: Path, scenario: Callable[[ServerService, ASGIApp], Awaitable[None]], *records: Record
) -> None:
    async def run() -> None:
        agents = house_in(folder, Server(str(folder / "tmux"))).agents
        for one in records:
            agents.registry.publish(one)
        instance = ServerInstance(
            pid=1, api_base_url="", server_root=str(folder / "server"), started_at_utc=AT
        )
        server = ServerService(agents, instance, logging.getLogger("test"))
        await server.open()
        try:
            await scenario(server, app.build(server))
        finally:
            await server.close()

    asyncio.run(run())


def numbers(answer: Answer) -> dict[str, dict[str, float]]:
    """Every number, by its name and the values of its labels."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(answer.body):
        for sample in family.samples:
            found.setdefault(sample.name, {})[" ".join(sample.labels.values())] = sample.value
    return found


def test_numbers_tell_of_agents_answers_turns_and_problems(tmp_path: Path) -> None:
    """A parser of Prometheus reads them."""

    async def scenario(server: ServerService, asked: ASGIApp) -> None:
        await call(asked, "GET", "/houmao/agents/nobody")
        await call(asked, "GET", "/nothing/here")
        server.journal.add("turn_started", agent_id="gpu", turn_id="t1")
        server.journal.add("turn_ended", agent_id="gpu", turn_id="t1", status="completed")
        told = numbers(await call(asked, "GET", "/metrics"))

        assert told["posthouse_agents"] == {"claude headless live": 1, "scripted headless live": 1}
        assert told["posthouse_record_problems"] == {"": 3}
        assert told["posthouse_http_answers_total"] == {
            "GET /houmao/agents/{agent_ref} 404": 1,
            "any none 404": 1,
        }
        assert told["posthouse_turns_total"] == {"completed": 1}
        assert told["posthouse_turn_duration_seconds_count"] == {"": 1}
        assert told["posthouse_event_readers"] == told["posthouse_gateways_followed"] == {"": 0}

    broken = tmp_path / "registry" / names.LIVE_AGENTS / "broken"
    broken.mkdir(parents=True)
    (broken / names.RECORD_FILE).write_text("{")
    served(tmp_path, scenario, record("gpu"), record("cpu", tool="claude"))


def test_it_is_ready_until_it_is_about_to_end(tmp_path: Path) -> None:
    """The reason says why not."""

    async def scenario(server: ServerService, asked: ASGIApp) -> None:
        first = await call(asked, "GET", "/ready")
        server.stopping.set()
        second = await call(asked, "GET", "/ready")

        known = {"live_agents": 1, "record_problems": 1, "background_failures": []}
        assert (first.status, first.body) == (200, {"ready": True, "reason": None, **known})
        reason = "the server is shutting down"
        assert (second.status, second.body) == (503, {"ready": False, "reason": reason, **known})

    served(tmp_path, scenario, record("gpu"))


LISTS: dict[str, list[str] | int] = {
    "": ["cpu", "gpu-1", "gpu-2"],
    "?tool=claude": ["cpu"],
    "?tool=claude,scripted&name=gpu-*": ["gpu-1", "gpu-2"],
    "?tool=claude&tool=scripted&has_gateway=true": ["gpu-2"],
    "?has_gateway=false&name=HOUMAO-gpu*": ["gpu-1"],
    "?state=active&transport=headless": ["cpu", "gpu-1", "gpu-2"],
    "?state=stopped&include=all": [],
    "?transport=tui": [],
    "?state=lost": 422,
    "?has_gateway=perhaps": 422,
    "?tool=a,,b": 422,
    "?name=": 422,
    "?colour=red": 422,
}


def test_a_list_is_narrowed_by_what_is_known_of_agents(tmp_path: Path) -> None:
    """Whatever makes no sense is refused, unknown filters included."""

    async def scenario(_: ServerService, asked: ASGIApp) -> None:
        told: dict[str, Any] = {}
        for query in LISTS:
            answer = await call(asked, "GET", f"/houmao/agents{query}")
            told[query] = answer.status
            if answer.status == 200:
                told[query] = [one["agent_name"] for one in answer.body["agents"]]

        assert told == LISTS

    served(
        tmp_path,
        scenario,
        record("gpu-1"),
        record("gpu-2", gateway_port=1),
        record("cpu", tool="claude"),
    )


def test_the_document_and_its_page_are_served(tmp_path: Path) -> None:
    """Every route says which token it needs."""

    async def scenario(_: ServerService, asked: ASGIApp) -> None:
        document = (await call(asked, "GET", "/openapi.json")).body
        page = await call(asked, "GET", "/docs")

        shutdown = document["paths"]["/houmao/server/shutdown"]["post"]
        assert shutdown["security"] == [{}, {"token": ["admin"]}]
        assert document["paths"]["/houmao/agents"]["get"]["security"] == [{}, {"token": ["read"]}]
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        assert page.headers["x-frame-options"] == "DENY"
        assert "POST</b> <code>/houmao/server/shutdown" in page.body

    served(tmp_path, scenario)
