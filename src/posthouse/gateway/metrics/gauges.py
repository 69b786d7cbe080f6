"""How one gateway stands at the moment it is asked."""

from collections.abc import Mapping

from posthouse import __version__
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.gateway.metrics.exposition import Family, Kind, Sample
from posthouse.gateway.stream.audience import Audience
from posthouse.support import usage


def of_status(status: GatewayStatus, tui_state: str | None) -> list[Family]:
    """What its status says, in numbers."""
    return [
        _one("gateway_info", "gauge", "Always 1.", 1, {"version": __version__, "backend": status.backend}),
        _one("queue_depth", "gauge", "Requests that wait or run.", status.queue_depth),
        _one(
            "slot_held",
            "gauge",
            "1 while something is typed or run.",
            int(status.active_execution == "running"),
        ),
        _one(
            "accepting_requests",
            "gauge",
            "1 while a request would be accepted; the reason otherwise.",
            int(status.request_admission == "open"),
            {"admission": status.request_admission},
        ),
        _one("agent_epoch", "gauge", "Generation of the agent.", status.managed_agent_instance_epoch),
        Family(
            name="posthouse_tui_state",
            kind="gauge",
            help="1 for the state that the TUI is believed to be in.",
            samples=[] if tui_state is None else [Sample(value=1, labels={"state": tui_state})],
        ),
    ]


def of_audience(audience: Audience) -> list[Family]:
    return [
        _one("event_readers", "gauge", "Connections that follow the events.", len(audience)),
        _one("event_readers_cut_total", "counter", "Readers that did not keep up.", audience.cut),
    ]


def of_notices(attempts: Mapping[tuple[str, str], int]) -> Family:
    """Attempts to tell commands and webhooks."""
    return Family(
        name="posthouse_notify_attempts_total",
        kind="counter",
        help="Attempts to tell a command or webhook, by outcome.",
        samples=[
            Sample(value=count, labels={"target": kind, "outcome": outcome})
            for (kind, outcome), count in sorted(attempts.items())
        ],
    )


def of_process() -> list[Family]:
    """What the process uses; a host's is that of all its gateways."""
    used = usage.of_this_process()
    return [
        _plain("process_cpu_seconds_total", "counter", "CPU time, user and system.", used.cpu_seconds),
        _plain("process_resident_memory_bytes", "gauge", "Memory in use.", used.resident_bytes),
        _plain("process_open_fds", "gauge", "Open file descriptors.", used.open_files),
    ]


def _one(name: str, kind: Kind, help_: str, value: float, labels: Mapping[str, str] | None = None) -> Family:
    return Family(
        name=f"posthouse_{name}", kind=kind, help=help_, samples=[Sample(value=value, labels=labels or {})]
    )


def _plain(name: str, kind: Kind, help_: str, value: float) -> Family:
    return Family(name=name, kind=kind, help=help_, samples=[Sample(value=value)])
