"""A gateway's status as text."""

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


def status_fields(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of a gateway's status that plain output shows."""
    return [(key, str(value[key])) for key in _SHOWN if value.get(key) is not None]
