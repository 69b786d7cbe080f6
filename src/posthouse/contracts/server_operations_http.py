"""Operational status of a coordination server; a posthouse extension."""

from posthouse.contracts.gateway_http import Count, Wire
from posthouse.contracts.operations_http import BackgroundFailure


class ServerReadiness(Wire):
    """Whether the server can list agents, can record turns, and is not stopping."""

    ready: bool
    #: The reason; null when ready.
    reason: str | None
    live_agents: Count
    #: Unusable records; the log and `record_problem` events have the reasons.
    record_problems: Count
    #: Background tasks that died since the server started, including restarted ones.
    background_failures: tuple[BackgroundFailure, ...] = ()
