"""What was claimed of a prompt against what the agent got. Pure."""

from dataclasses import dataclass

from posthouse.testing.crash.trial import Verdict

_MAY_HAVE = "may have reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What somebody asked, and what they were told."""

    text: str
    #: They were told that it is accepted, or sent.
    was_accepted: bool
    #: They were told that it will not be carried out after all.
    was_cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is on disk about it when everything has come to rest."""

    #: The receipt's state; None without a receipt.
    receipt: str | None
    error: str | None
    #: The contract's row, for what went through the queue.
    row: str | None = None
    #: The event that says that it will not come: a reminder that ended with its gateway.
    is_told_lost: bool = False


def judge(claim: Claim, story: Story, *, times: int) -> tuple[Verdict, str]:
    """The verdict on one prompt that the agent got so many *times*, and why, for a person."""
    told = (
        f"{claim.text}: got {times}×, receipt {story.receipt}, row {story.row}, {story.error or 'no error'}"
    )
    if times > 1:
        return "twice", told
    if problem := _lie(claim, story, times):
        return "lied", f"{problem}; {told}"
    if claim.was_accepted and _is_lost(story):
        return "lost", told
    is_open = story.receipt == "unknown" or (story.receipt == "failed" and times == 1)
    return ("uncertain", told) if is_open else ("kept", told)


def _is_lost(story: Story) -> bool:
    if story.receipt is None:
        return not story.is_told_lost
    return story.receipt in ("accepted", "running")


def _lie(claim: Claim, story: Story, times: int) -> str | None:
    if claim.was_cancelled and times:
        return "its caller was told that it is cancelled"
    if story.receipt is None and times:
        return "the agent got it, and nothing on disk knows of it" if not story.is_told_lost else None
    if "completed" in (story.receipt, story.row) and not times:
        return "it is said to be completed"
    if story.receipt in ("cancelled", "coalesced") and times:
        return f"it is said to be {story.receipt}"
    if story.receipt == "failed" and times and _MAY_HAVE not in (story.error or ""):
        return "it is said not to have been carried out"
    return None
