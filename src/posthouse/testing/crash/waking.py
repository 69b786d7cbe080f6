"""Mail wakes the agent while the gateway dies: what is set up, what is looked at, and what may be found."""

import json
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass

from posthouse.contracts import gateway_files as gf
from posthouse.gateway.mail.notifier.poller import KIND
from posthouse.mailbox import INBOX, Draft, MailFilter
from posthouse.testing.crash.judging import Claim
from posthouse.testing.crash.subject import OPEN, Subject
from posthouse.testing.crash.trial import Verdict
from posthouse.testing.mail import FilesystemOffice, address_of

_NOTIFIER = "/v1/mail-notifier"
_INTERVAL_SECONDS = 1
#: The row that was due when the gateway died, and the one that is due when the next begins: times in the
#: file have whole seconds.
_SPARE_POLLS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wakes:
    """What is on disk about the wake-ups for one message, and what the agent got."""

    #: The state of every request, by its id.
    requests: dict[str, str]
    #: The requests that audit rows name.
    audited: list[str]
    #: How often the agent was woken for it.
    times: int
    #: Audit rows of all outcomes since the notifier was enabled, and how long ago that was.
    polls: int
    seconds: float


def enable(subject: Subject, tag: str) -> None:
    """Have unread mail wake the agent every second, as the contract says."""
    settings = {"interval_seconds": _INTERVAL_SECONDS, "mode": "unread_only"}
    subject.watched_from = (time.monotonic(), _polls(subject))
    if not (answer := subject.ask("PUT", _NOTIFIER, settings)).is_yes:
        raise RuntimeError(f"the notifier was not enabled: {answer}")


def send(subject: Subject, tag: str) -> list[Claim]:
    """Mail comes, from somebody who needs no gateway."""
    sender = _office(subject).mailbox("sender")
    sender.send(Draft(to=(address_of(subject.session.agent_name),), subject=tag, body="Hello."))
    sender.close()
    return [Claim(text=tag, was_accepted=True)]


def has_woken(subject: Subject, claims: list[Claim]) -> bool:
    """Whether the agent was woken, and nothing more is under way."""
    states = _requests(subject, claims[0].text).values()
    return bool(states) and not any(state in OPEN for state in states)


def read(subject: Subject, tag: str, claims: list[Claim]) -> list[Claim]:
    """The agent is woken by the next gateway, if it was not yet, and reads: it is woken no more."""

    def is_woken() -> bool:
        subject.tidy()
        return _times(subject, tag) > 0

    subject.until(is_woken)
    mailbox = _office(subject).mailbox(subject.session.agent_name)
    for message in mailbox.find(MailFilter(box=INBOX, read_state="unread")):
        mailbox.read(message.message_ref)
    mailbox.close()
    subject.ask("DELETE", _NOTIFIER)
    return claims


def judge_wakes(subject: Subject, claims: list[Claim]) -> list[tuple[Verdict, str]]:
    """Hold the wake-ups against what the agent got."""
    tag = claims[0].text
    begun, before = subject.watched_from
    wakes = Wakes(
        requests=_requests(subject, tag),
        audited=_audited(subject, tag),
        times=_times(subject, tag),
        polls=_polls(subject) - before,
        seconds=time.monotonic() - begun,
    )
    return [(verdict(wakes), f"{tag}: {wakes}")]


def verdict(wakes: Wakes) -> Verdict:
    """What may be said of *wakes*. Pure."""
    completed = sum(state == "completed" for state in wakes.requests.values())
    if sorted(wakes.audited) != sorted(wakes.requests) or completed > wakes.times:
        return "lied"
    if wakes.times == 0 or any(state in OPEN for state in wakes.requests.values()):
        return "lost"
    if wakes.times > len(wakes.requests) or wakes.polls > wakes.seconds / _INTERVAL_SECONDS + _SPARE_POLLS:
        return "twice"
    return "kept" if wakes.times == completed else "uncertain"


def _office(subject: Subject) -> FilesystemOffice:
    return FilesystemOffice(subject.house.agents.roots.mailbox)


def _times(subject: Subject, tag: str) -> int:
    return sum(_is_about(prompt, tag) for prompt in subject.truth.prompts())


def _requests(subject: Subject, tag: str) -> dict[str, str]:
    rows = _rows(
        subject, f"SELECT request_id, state, payload_json FROM gateway_requests WHERE request_kind = '{KIND}'"
    )
    return {
        request_id: state
        for request_id, state, payload in rows
        if _is_about(json.loads(payload)["prompt"], tag)
    }


def _audited(subject: Subject, tag: str) -> list[str]:
    columns = "enqueued_request_id, unread_summary_json"
    rows = _rows(subject, f"SELECT {columns} FROM gateway_notifier_audit WHERE outcome = 'enqueued'")
    return [request_id for request_id, told in rows if _is_about(told, tag)]


def _polls(subject: Subject) -> int:
    return int(_rows(subject, "SELECT count(*) FROM gateway_notifier_audit")[0][0])


def _is_about(text: str, tag: str) -> bool:
    """Subjects stand in quotes, wherever they are told."""
    return f'"{tag}"' in text


def _rows(subject: Subject, query: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(subject.session.gateway_root / gf.QUEUE)) as connection:
        return connection.execute(query).fetchall()
