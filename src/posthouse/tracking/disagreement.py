"""Whether a TUI's hooks and its screen contradict each other. Pure.

Silence that is a CLI's habit is no contradiction: no hook after Escape, an idle title under a dialog.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from posthouse.tools.tool import Testimony
from posthouse.tracking.evidence import AT_REST, AT_WORK, Evidences, Source
from posthouse.tracking.observation import Sight

_LATE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Everything that a judgement is made from."""

    sight: Sight
    evidence: Evidences
    #: When the screen last showed a dialog.
    blocked_at: datetime | None
    #: Since when the text of the screen is the same.
    text_since: datetime
    #: Somebody said that a prompt goes in, and its end is awaited.
    is_noted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two witnesses that contradict each other."""

    between: tuple[Source, Source]
    words: str
    #: Since when it counts: both have said what they say, and a hook that is late has had its time.
    since: datetime


def find(known: Known, testimony: Testimony) -> Disagreement | None:
    """Who contradicts whom; None: nobody does."""
    hook, screen = known.evidence.get("hook"), known.evidence.get("screen")
    if hook is None or screen is None:
        return None
    words = None
    if screen.says in AT_WORK and hook.says in ("ended", "failed"):
        words = _works_on(known)
    elif screen.says in AT_REST and _is_running(known):
        words = _rests(known, testimony)
    if words is None:
        return None
    # A hook is a process, which a busy machine starts late: what it has not said yet takes longer to count.
    grace = _LATE if screen.says in AT_REST else timedelta()
    since = max(hook.since, screen.since) + grace
    return Disagreement(between=("hook", "screen"), words=words, since=since)


def _works_on(known: Known) -> str | None:
    """A hook said that the turn is over."""
    hook, screen = known.evidence["hook"], known.evidence["screen"]
    transcript = known.evidence.get("transcript")
    # Whatever began after the hook spoke is another turn; the transcript knows of those, too.
    is_another = _is_running(known) and transcript is not None and transcript.since >= hook.since
    if screen.since >= hook.since or is_another:
        return None
    return "a hook says that the turn is over, and the screen that it runs"


def _rests(known: Known, testimony: Testimony) -> str | None:
    """Hook and transcript speak of a turn."""
    hook = known.evidence["hook"]
    was_asked = known.blocked_at is not None and known.blocked_at >= hook.since
    if hook.says == "asking" and not was_asked:
        return "a hook says that a person is asked, and the screen shows no dialog"
    if hook.says == "submitted" and not testimony.silent_endings:
        return "a hook says that a turn runs, and the screen that none does"
    return None


def _is_running(known: Known) -> bool:
    """Whether the transcript shows a prompt without an end."""
    transcript = known.evidence.get("transcript")
    return transcript is not None and transcript.says == "running"
