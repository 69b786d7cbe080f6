"""Gauges derived from the current status of one gateway."""

from collections.abc import Mapping

from posthouse import __version__
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.web.exposition import Family, Sample
from posthouse.web.gauges import metric


def of_status(status: GatewayStatus, tui_state: str | None) -> list[Family]:
    """Gauges of *status*."""
    return [
        metric("gateway_info", "gauge", "Always 1.", 1, {"version": __version__, "backend": status.backend}),
        metric("queue_depth", "gauge", "Requests that wait or run.", status.queue_depth),
        metric(
            "slot_held",
            "gauge",
            "1 while something is typed or run.",
            int(status.active_execution == "running"),
        ),
        metric(
            "accepting_requests",
            "gauge",
            "1 while a request would be accepted; the reason otherwise.",
            int(status.request_admission == "open"),
            {"admission": status.request_admission},
        ),
        metric("agent_epoch", "gauge", "Generation of the agent.", status.managed_agent_instance_epoch),
        Family(
            name="posthouse_tui_state",
            kind="gauge",
            help="1 for the inferred state of the TUI.",
            samples=[] if tui_state is None else [Sample(value=1, labels={"state": tui_state})],
        ),
    ]


def of_notifications(attempts: Mapping[tuple[str, str], int]) -> Family:
    """Attempts to notify commands and webhooks."""
    return Family(
        name="posthouse_notify_attempts_total",
        kind="counter",
        help="Attempts to notify a command or webhook, by outcome.",
        samples=[
            Sample(value=count, labels={"target": kind, "outcome": outcome})
            for (kind, outcome), count in sorted(attempts.items())
        ],
    )
