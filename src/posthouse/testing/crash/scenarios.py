"""What is going on when somebody dies: how a prompt reaches an agent, and how one is stopped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from posthouse.testing.crash import waking
from posthouse.testing.crash.judging import Claim, judge
from posthouse.testing.crash.subject import OPEN, Answered, Subject
from posthouse.testing.crash.trial import AgentKind, Verdict, Victim

_BOTH: tuple[AgentKind, ...] = ("tui", "headless")
_LONG = "[[wait 300]]"


def _nothing(subject: Subject, tag: str) -> None:
    """Nothing is needed."""


def _no_more(subject: Subject, tag: str, claims: list[Claim]) -> list[Claim]:
    return claims


def has_ended(subject: Subject, claims: list[Claim]) -> bool:
    """Whether the receipt of every prompt has come to its end."""
    return all(subject.story(claim.text).receipt not in (None, *OPEN) for claim in claims)


def judge_prompts(subject: Subject, claims: list[Claim]) -> list[tuple[Verdict, str]]:
    """Hold every prompt against what the agent got."""
    received = subject.truth.prompts()
    return [judge(one, subject.story(one.text), times=received.count(one.text)) for one in claims]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One way. *tag* makes the prompts of a trial its own."""

    #: What is asked while the victim is armed, and what its callers were told.
    act: Callable[[Subject, str], list[Claim]]
    #: What goes before, unharmed.
    prepare: Callable[[Subject, str], None] = _nothing
    #: What is asked of the next gateway before all comes to rest.
    again: Callable[[Subject, str, list[Claim]], list[Claim]] = _no_more
    agents: Sequence[AgentKind] = _BOTH
    victims: Sequence[Victim] = ("gateway",)
    #: Whether all has come about that does so by itself.
    is_done: Callable[[Subject, list[Claim]], bool] = has_ended
    #: What may be said of it when all is at rest.
    judge: Callable[[Subject, list[Claim]], list[tuple[Verdict, str]]] = judge_prompts
    #: The agent works until somebody stops it.
    is_long: bool = False


def _prompt(tag: str, part: str = "") -> str:
    return f"[[say {tag}{part}]]"


def _submit(subject: Subject, text: str, key: str | None = None) -> Answered:
    body = {"kind": "submit_prompt", "payload": {"prompt": text}}
    return subject.ask("POST", "/v1/requests", body, key)


def _queued(subject: Subject, tag: str) -> list[Claim]:
    texts = [_prompt(tag, "-a"), _prompt(tag, "-b")]
    return [Claim(text=text, was_accepted=_submit(subject, text).is_yes) for text in texts]


def _repeated(subject: Subject, tag: str) -> list[Claim]:
    text = _prompt(tag)
    return [Claim(text=text, was_accepted=_submit(subject, text, key=tag).is_yes)]


def _repeat(subject: Subject, tag: str, claims: list[Claim]) -> list[Claim]:
    """The caller heard nothing, or does not trust it, and asks again under the same key."""
    answer = _submit(subject, claims[0].text, key=tag)
    return [Claim(text=claims[0].text, was_accepted=claims[0].was_accepted or answer.is_yes)]


def _direct(subject: Subject, tag: str) -> list[Claim]:
    text = _prompt(tag)
    body = {"schema_version": 1, "prompt": text, "force": False}
    return [Claim(text=text, was_accepted=subject.ask("POST", "/v1/control/prompt", body).is_yes)]


def _reminder(subject: Subject, tag: str) -> list[Claim]:
    text = _prompt(tag)
    reminder = {
        "mode": "one_off",
        "title": text,
        "prompt": text,
        "ranking": 0,
        "start_after_seconds": 0.01,
    }
    answer = subject.ask("POST", "/v1/reminders", {"schema_version": 1, "reminders": [reminder]})
    return [Claim(text=text, was_accepted=answer.is_yes)]


def _begin_long(subject: Subject, tag: str) -> None:
    """Have the agent at work on something that does not end by itself."""
    text = f"{tag}-long {_LONG}"
    if not _submit(subject, text).is_yes or not subject.until(lambda: text in subject.truth.prompts()):
        raise RuntimeError(f"the agent did not begin to work: {subject.receipts()[:1]}")


def _interrupt(subject: Subject, tag: str) -> list[Claim]:
    subject.ask("POST", "/v1/requests", {"kind": "interrupt", "payload": {}})
    return [Claim(text=f"{tag}-long {_LONG}", was_accepted=True)]


def _wait_behind(subject: Subject, tag: str) -> None:
    """Have a second prompt wait behind the long one."""
    _begin_long(subject, tag)
    answer = _submit(subject, _prompt(tag, "-next"))
    if not answer.is_yes:
        raise RuntimeError("the second prompt was not accepted")
    subject.waiting_id = answer.body["request_id"]


def _cancel(subject: Subject, tag: str) -> list[Claim]:
    answer = subject.ask("DELETE", f"/v1/requests/{subject.waiting_id}")
    return [
        Claim(text=f"{tag}-long {_LONG}", was_accepted=True),
        Claim(text=_prompt(tag, "-next"), was_accepted=True, was_cancelled=answer.is_yes),
    ]


#: Besides these there are `start`, `attach` and `detach`, where the victim is not a gateway at work.
SCENARIOS = {
    "queued": Scenario(act=_queued),
    "queued headless turn": Scenario(act=_queued, agents=("headless",), victims=("bridge",)),
    "direct": Scenario(act=_direct),
    "direct headless turn": Scenario(act=_direct, agents=("headless",), victims=("bridge",)),
    "reminder": Scenario(act=_reminder),
    "repeat": Scenario(act=_repeated, again=_repeat),
    "interrupt": Scenario(prepare=_begin_long, act=_interrupt, is_long=True),
    "cancel": Scenario(prepare=_wait_behind, act=_cancel, is_long=True),
    "mail": Scenario(
        prepare=waking.enable,
        act=waking.send,
        again=waking.read,
        is_done=waking.has_woken,
        judge=waking.judge_wakes,
    ),
}
