"""What a coordination server tells its operators; ours."""

from posthouse.contracts.gateway_http import Count, Wire
from posthouse.contracts.operations_http import BackgroundFailure


class ServerReadiness(Wire):
    """Whether the server knows its agents, can keep records of turns, and stays."""

    ready: bool
    #: Why not; null when it is.
    reason: str | None
    live_agents: Count
    #: Records that can't be used; the log and `record_problem` events say why.
    record_problems: Count
    #: Background tasks that died since the server started, those that run again included.
    background_failures: tuple[BackgroundFailure, ...] = ()
