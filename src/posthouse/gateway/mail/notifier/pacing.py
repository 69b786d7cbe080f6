"""When the notifier polls next, and when unchanged mail wakes the agent again. Pure."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from posthouse.queue import NotifierHistory, Settings, WakeRecord, WakeRule
from posthouse.support import clock


def digest(refs: Iterable[str]) -> str:
    """Digest of a set of messages, for the audit row."""
    return hashlib.sha256("\n".join(sorted(refs)).encode()).hexdigest()


def seconds_to_first_poll(settings: Settings, history: NotifierHistory, now: datetime) -> float:
    """Delay before the first poll after a start: the rest of the previous interval.

    So a gateway that restarts more often than the interval still polls.
    """
    interval = float(settings.interval_seconds or 0)
    anchors = [clock.parse(history.updated_at_utc)]
    if history.last_poll_at_utc is not None:
        anchors.append(clock.parse(history.last_poll_at_utc))
    waited = (now - max(anchors)).total_seconds()
    return min(max(interval - waited, 0.0), interval)


def seconds_to_repeat(
    wakes: Iterable[WakeRecord], settings: Settings, rule: WakeRule, *, is_unchanged: bool, now: datetime
) -> float:
    """Delay before mail that was already announced wakes the agent again; 0 means now.

    Without backoff it wakes at every interval; with backoff after 1, 2, 4 … intervals.
    """
    known = list(wakes)
    if rule.backoff_max_seconds is None or not is_unchanged or not known:
        return 0.0
    times = min(one.count for one in known)
    interval = settings.interval_seconds or 0
    pause = min(interval * 2.0 ** min(times - 1, 40), max(rule.backoff_max_seconds, interval))
    last = max(clock.parse(one.last_at_utc) for one in known)
    # Polls jitter; being a second early must not cost a whole interval.
    return max(pause - 1.0 - (now - last).total_seconds(), 0.0)
