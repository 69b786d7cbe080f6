"""Which events trigger a notification, and its text. Pure."""

from collections.abc import Mapping
from typing import Any

from posthouse.contracts.notification_files import Occasion
from posthouse.events.event import Event

_OF_STAGE: Mapping[str, Occasion] = {
    "completed": "finished",
    "failed": "failed",
    "interrupted": "failed",
    "unknown": "failed",
}

_SENTENCES: Mapping[Occasion, str] = {
    "finished": "{agent} finished a prompt",
    "failed": "{agent} did not finish a prompt: {detail}",
    "blocked": "{agent} waits for an answer: {detail}",
    "limited": "{agent} has reached a usage limit: {detail}",
}
_MAX_DETAIL = 200


def occasion_of(event: Event) -> Occasion | None:
    """The occasion that *event* triggers, if any. A continuing state triggers once."""
    if event.kind == "request_stage":
        return _OF_STAGE.get(str(event.fields.get("stage")))
    if event.kind == "tui_state" and event.fields.get("state") == "blocked":
        return None if event.fields.get("previous") == "blocked" else "blocked"
    return "limited" if event.kind == "limited" else None


def sentence(occasion: Occasion, agent: str, fields: Mapping[str, Any]) -> str:
    """The text for people."""
    detail = next((str(fields[name]) for name in ("detail", "dialog", "stage") if fields.get(name)), "")
    return _SENTENCES[occasion].format(agent=agent, detail=detail[:_MAX_DETAIL]).removesuffix(": ")
