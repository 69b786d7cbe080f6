"""What a gateway and a coordination server tell their operators alike; ours."""

from posthouse.contracts.gateway_http import Count, Wire


class BackgroundFailure(Wire):
    """A background task that died since the process started; it is restarted with backoff."""

    task: str
    deaths: Count
    #: How it died the last time; the log has the traceback.
    error: str
    died_at_utc: str
    #: False while it waits for its restart.
    is_running: bool
