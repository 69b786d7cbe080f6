"""A gateway's status in words for people."""

from collections.abc import Mapping
from typing import Any

_SHOWN = (
    "gateway_health",
    "gateway_host",
    "gateway_port",
    "managed_agent_connectivity",
    "request_admission",
    "active_execution",
    "queue_depth",
)


def status_told(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a person wants to know of a gateway's status."""
    return [(key, str(value[key])) for key in _SHOWN if value.get(key) is not None]
