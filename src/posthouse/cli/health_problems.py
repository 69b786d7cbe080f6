"""Gateways and servers that are not ready or whose background tasks died, for `doctor`."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from posthouse.cli import gateways, servers
from posthouse.cli.wiring import Wiring
from posthouse.clients import readiness
from posthouse.sessions import liveness


def collect(wiring: Wiring) -> list[dict[str, Any]]:
    """For each such process: its name, why it is not ready (None: it is), and its dead background tasks."""
    problems = []
    for process, agent, host, port in _processes(wiring):
        report = readiness.fetch(host, port)
        failures = report.get("background_failures") or []
        if report.get("ready") is not True or failures:
            problems.append(
                {
                    "process": process,
                    "agent": agent,
                    "reason": report.get("reason"),
                    "background_failures": failures,
                }
            )
    return problems


def lines(problem: dict[str, Any]) -> Iterator[str]:
    """One problem as lines of text."""
    who = "the server" if problem["agent"] is None else f"the gateway of {problem['agent']}"
    if problem["reason"] is not None:
        yield f"{who} is not ready: {problem['reason']}"
    for one in problem["background_failures"]:
        state = "runs again" if one["is_running"] else "waits for its restart"
        times = "once" if one["deaths"] == 1 else f"{one['deaths']} times"
        yield (
            f"{who}: the background task {one['task']!r} died {times}, last at {one['died_at_utc']} "
            f"({one['error']}), and {state}; the log has the traceback"
        )


def _processes(wiring: Wiring) -> Iterator[tuple[str, str | None, str, int]]:
    server = servers.running(wiring.roots.runtime)
    if server is not None:
        address = urlsplit(server.api_base_url)
        yield "server", None, address.hostname or "127.0.0.1", address.port or 0
    for agent in liveness.registered(wiring.registry):
        instance = None if agent.session is None else gateways.live_instance(agent.session)
        if instance is not None:
            yield "gateway", agent.name, instance.host, instance.port
