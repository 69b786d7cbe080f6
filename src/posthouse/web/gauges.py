"""Numbers that every process with a door can tell: what it uses, and who listens to its events."""

from collections.abc import Mapping

from posthouse.events.readers import Audience
from posthouse.support import usage
from posthouse.web.exposition import Family, Kind, Sample


def of_audience(audience: Audience) -> list[Family]:
    return [
        one("event_readers", "gauge", "Connections that follow the events.", len(audience)),
        one("event_readers_cut_total", "counter", "Readers that did not keep up.", audience.cut),
    ]


def of_process() -> list[Family]:
    """What the process uses; a host's is that of all its gateways."""
    used = usage.of_this_process()
    return [
        _plain("process_cpu_seconds_total", "counter", "CPU time, user and system.", used.cpu_seconds),
        _plain("process_resident_memory_bytes", "gauge", "Memory in use.", used.resident_bytes),
        _plain("process_open_fds", "gauge", "Open file descriptors.", used.open_files),
    ]


def one(name: str, kind: Kind, help_: str, value: float, labels: Mapping[str, str] | None = None) -> Family:
    return Family(
        name=f"posthouse_{name}", kind=kind, help=help_, samples=[Sample(value=value, labels=labels or {})]
    )


def _plain(name: str, kind: Kind, help_: str, value: float) -> Family:
    return Family(name=name, kind=kind, help=help_, samples=[Sample(value=value)])
