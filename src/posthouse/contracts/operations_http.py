"""Operational status shared by gateway and coordination server; a posthouse extension."""

from posthouse.contracts.gateway_http import Count, Wire


class BackgroundFailure(Wire):
    """A background task that died since the process started; it is restarted with backoff."""

    task: str
    deaths: Count
    #: The last error; the log has the traceback.
    error: str
    died_at_utc: str
    #: False while it waits for its restart.
    is_running: bool
