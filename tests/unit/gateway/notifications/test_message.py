"""What is told, and the proof of who told it."""

import base64
import json

from posthouse.events.event import Event
from posthouse.gateway.notifications.delivery_status import DELAYS, delay_after, refused
from posthouse.gateway.notifications.message import AgentIdentity, notice_of, signature, trial_notice

WHOSE = AgentIdentity(agent_id="gpu-id", agent_name="gpu")
EVENT = Event(number=7, kind="request_stage", line=b'{"kind": "request_stage", "stage": "completed"}')


def test_a_notice_says_who_what_and_which_event() -> None:
    """Its id is that of the event, so that a repetition is known."""
    notice = notice_of(EVENT, "finished", WHOSE)

    assert json.loads(notice.body) == {
        "id": f"gpu-id/{EVENT.position}",
        "occasion": "finished",
        "agent_id": "gpu-id",
        "agent_name": "gpu",
        "event_id": str(EVENT.position),
        "event": {"kind": "request_stage", "stage": "completed"},
        "text": "gpu finished a prompt",
    }
    assert notice_of(EVENT, "finished", WHOSE) == notice


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """Checked against the example that its specification gives, so that receivers' libraries agree."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    notice = trial_notice(WHOSE, "failed")
    given = type(notice)(event_id="e", notice_id="msg_p5jXN8AQM9LWM0D4loKWxJek", occasion="failed", body=body)

    assert signature(key, given, 1614265330) == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_attempts_come_ever_more_rarely_and_end() -> None:
    """A target that is gone for good is given up."""
    waits = [delay_after(attempts) for attempts in range(1, len(DELAYS) + 2)]

    assert waits == [*DELAYS, None]
    assert list(DELAYS) == sorted(DELAYS)


def test_what_a_target_says_is_bounded_and_printable() -> None:
    """It is shown in a terminal: the end of it, without its escape sequences."""
    told = refused("x" * 1000 + "\x1b[31mred\n").detail

    assert (len(told), told.endswith("x [31mred"), told.startswith("…")) == (501, True, True)
