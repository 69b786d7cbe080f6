"""Notices: the same bytes at every attempt, with an id by which the receiver detects repetitions."""

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
    """The message about one event."""

    #: The id of the event; globally unique together with the agent's id.
    event_id: str
    notice_id: str
    occasion: Occasion
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIdentity:
    """The agent that a notice is about."""

    agent_id: str
    agent_name: str


def notice_of(event: Event, occasion: Occasion, agent: AgentIdentity) -> Notice:
    """The notice about *event*."""
    text = sentence(occasion, agent.agent_name, event.fields)
    return _build(str(event.position), event.fields, occasion, agent, text)


def trial_notice(agent: AgentIdentity, occasion: Occasion) -> Notice:
    """A test notice, to check whether a target can be reached."""
    text = f"a test: {agent.agent_name} would report {occasion} here"
    return _build(f"test-{ids.hex_id(12)}", {"kind": "test"}, occasion, agent, text)


def _build(
    event_id: str, fields: Mapping[str, Any], occasion: Occasion, agent: AgentIdentity, text: str
) -> Notice:
    notice_id = f"{agent.agent_id}/{event_id}"
    content = {
        "id": notice_id,
        "occasion": occasion,
        "agent_id": agent.agent_id,
        "agent_name": agent.agent_name,
        "event_id": event_id,
        "event": fields,
        "text": text,  # shown by chat services
    }
    body = json.dumps(content, sort_keys=True, ensure_ascii=False).encode()
    return Notice(event_id=event_id, notice_id=notice_id, occasion=occasion, body=body)


def signature(key: bytes, notice: Notice, timestamp: int) -> dict[str, str]:
    """The signature headers of *notice*: HMAC-SHA256 over id, time and body, as in Standard Webhooks."""
    signed = f"{notice.notice_id}.{timestamp}.".encode() + notice.body
    proof = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": notice.notice_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{proof}",
    }
