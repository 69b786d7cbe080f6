"""When the notifier looks next, and when unchanged mail wakes again. Pure."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from posthouse.queue import Past, Settings, WakeRule, Wakes
from posthouse.support import clock


def digest(refs: Iterable[str]) -> str:
    """Names a set of messages; the contract keeps it in every audit row."""
    return hashlib.sha256("\n".join(sorted(refs)).encode()).hexdigest()


def seconds_to_first_poll(settings: Settings, past: Past, now: datetime) -> float:
    """How long a gateway that just started waits: as the last one would have, at most an interval.

    A gateway that is restarted more often than the interval still polls.
    """
    interval = float(settings.interval_seconds or 0)
    anchors = [clock.parse(past.updated_at_utc)]
    if past.last_poll_at_utc is not None:
        anchors.append(clock.parse(past.last_poll_at_utc))
    waited = (now - max(anchors)).total_seconds()
    return min(max(interval - waited, 0.0), interval)


def seconds_to_repeat(
    wakes: Iterable[Wakes], settings: Settings, rule: WakeRule, *, is_unchanged: bool, now: datetime
) -> float:
    """How long mail that the agent was woken for already waits until it wakes again; 0: now.

    Without a back-off it wakes at every interval. With one, after 1, 2, 4 … intervals.
    """
    known = list(wakes)
    if rule.backoff_max_seconds is None or not is_unchanged or not known:
        return 0.0
    times = min(one.count for one in known)
    interval = settings.interval_seconds or 0
    pause = min(interval * 2.0 ** min(times - 1, 40), max(rule.backoff_max_seconds, interval))
    last = max(clock.parse(one.last_at_utc) for one in known)
    # A poll is a little early or late; a second must not cost a whole interval.
    return max(pause - 1.0 - (now - last).total_seconds(), 0.0)
