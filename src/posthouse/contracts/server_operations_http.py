"""What a coordination server tells its operators; ours."""

from posthouse.contracts.gateway_http import Count, Wire


class ServerReadiness(Wire):
    """Whether the server knows its agents, and stays."""

    ready: bool
    #: Why not; null when it is.
    reason: str | None
    live_agents: Count
    #: Records that can't be used; the log and `record_problem` events say why.
    record_problems: Count
