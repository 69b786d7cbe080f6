"""Metrics of every process that serves HTTP: its resource usage and its event readers."""

from collections.abc import Mapping

from posthouse.events.readers import EventReaders
from posthouse.support import usage
from posthouse.web.exposition import Family, Kind, Sample


def of_readers(readers: EventReaders) -> list[Family]:
    return [
        metric("event_readers", "gauge", "Connections that follow the events.", len(readers)),
        metric("event_readers_cut_total", "counter", "Readers that did not keep up.", readers.dropped_count),
    ]


def of_process() -> list[Family]:
    """Resource usage of the process; that of a host covers all its gateways."""
    used = usage.of_this_process()
    return [
        _unprefixed("process_cpu_seconds_total", "counter", "CPU time, user and system.", used.cpu_seconds),
        _unprefixed("process_resident_memory_bytes", "gauge", "Memory in use.", used.resident_bytes),
        _unprefixed("process_open_fds", "gauge", "Open file descriptors.", used.open_files),
    ]


def metric(
    name: str, kind: Kind, help_: str, value: float, labels: Mapping[str, str] | None = None
) -> Family:
    return Family(
        name=f"posthouse_{name}", kind=kind, help=help_, samples=[Sample(value=value, labels=labels or {})]
    )


def _unprefixed(name: str, kind: Kind, help_: str, value: float) -> Family:
    return Family(name=name, kind=kind, help=help_, samples=[Sample(value=value)])
