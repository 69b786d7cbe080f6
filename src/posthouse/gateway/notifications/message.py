"""What a target is told: the same bytes at every attempt, with an id by which a repetition is known."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posthouse.contracts.notification_files import Occasion
from posthouse.events.event import Event
from posthouse.gateway.notifications.triggers import sentence
from posthouse.support import ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One event that somebody is told of."""

    #: Of the event; with the agent's id it is unique for ever.
    event_id: str
    notice_id: str
    occasion: Occasion
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """The agent that notices are about."""

    agent_id: str
    agent_name: str


def notice_of(event: Event, occasion: Occasion, whose: Whose) -> Notice:
    """What is told of *event*."""
    text = sentence(occasion, whose.agent_name, event.fields)
    return _made(str(event.position), event.fields, occasion, whose, text)


def trial(whose: Whose, occasion: Occasion) -> Notice:
    """A notice of nothing that happened, to see whether a target hears."""
    text = f"a test: {whose.agent_name} would tell of {occasion} here"
    return _made(f"test-{ids.hex_id(12)}", {"kind": "test"}, occasion, whose, text)


def _made(event_id: str, fields: Mapping[str, Any], occasion: Occasion, whose: Whose, text: str) -> Notice:
    notice_id = f"{whose.agent_id}/{event_id}"
    told = {
        "id": notice_id,
        "occasion": occasion,
        "agent_id": whose.agent_id,
        "agent_name": whose.agent_name,
        "event_id": event_id,
        "event": fields,
        "text": text,  # what chat services that take a webhook show
    }
    body = json.dumps(told, sort_keys=True, ensure_ascii=False).encode()
    return Notice(event_id=event_id, notice_id=notice_id, occasion=occasion, body=body)


def signature(key: bytes, notice: Notice, timestamp: int) -> dict[str, str]:
    """The headers that prove who sent *notice*: HMAC-SHA256 over id, time, body, as Standard Webhooks do."""
    signed = f"{notice.notice_id}.{timestamp}.".encode() + notice.body
    proof = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": notice.notice_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{proof}",
    }
