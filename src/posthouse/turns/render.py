"""Renders a turn for a terminal, live in the agent's pane and later as a replay.

`plain` is plain lines, `fancy` has colours and glyphs, `json` is one public event per line. `concise`
omits reasoning, progress and passthrough events.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from posthouse.contracts.events import CanonicalEvent, Detail, Kind, Style
from posthouse.support.printable import visible

#: Omitted by `concise`.
_ONLY_IN_DETAIL: Final[frozenset[Kind]] = frozenset({"reasoning", "progress", "passthrough"})
_PLAIN_MARKS: Final[Mapping[Kind, str]] = {
    "session": "session: ",
    "reasoning": "thinking: ",
    "action_request": "> ",
    "action_result": "< ",
    "progress": "... ",
    "completion": "done: ",
    "diagnostic": "! ",
    "passthrough": "~ ",
}
_FANCY_MARKS: Final[Mapping[Kind, str]] = {
    "session": "◆ ",
    "reasoning": "✻ ",
    "action_request": "▸ ",
    "action_result": "◂ ",
    "progress": "… ",
    "completion": "✔ ",
    "diagnostic": "▲ ",
    "passthrough": "· ",
}
_COLOURS: Final[Mapping[Kind, str]] = {
    "session": "2",
    "reasoning": "2;3",
    "action_request": "36",
    "action_result": "2",
    "progress": "2",
    "completion": "1;32",
    "diagnostic": "33",
    "passthrough": "2",
}
_FAILED_COLOUR = "1;31"


class Renderer:
    """Renders the events of one turn in order. Its only state is whether the last line is incomplete."""

    def __init__(self, style: Style, detail: Detail, *, colour: bool = True) -> None:
        self._style = style
        self._detail = detail
        self._colour = colour
        self._line_is_open = False

    def feed(self, event: CanonicalEvent) -> str:
        """The text for *event*; "" if it is not shown."""
        if self._style == "json":
            return json.dumps(event.public(self._detail), sort_keys=True) + "\n"
        if self._detail == "concise" and event.kind in _ONLY_IN_DETAIL:
            return ""
        text = _text(event, self._detail)
        if event.kind == "assistant":
            return self._assistant(text, is_piece=_data(event).get("delta") is True)
        return self._close() + _with_mark(event, text, self._style, colour=self._colour) + "\n"

    def note(self, text: str) -> str:
        """A line that is no event. Empty in `json`, which is for programs."""
        return "" if self._style == "json" else f"{self._close()}{clean(text)}\n"

    def _assistant(self, text: str, *, is_piece: bool) -> str:
        if not text:
            return ""
        if is_piece:
            self._line_is_open = not text.endswith("\n")
            return text
        return f"{self._close()}{text.rstrip()}\n"

    def _close(self) -> str:
        """The missing newline after an answer in pieces, or ""."""
        was_open, self._line_is_open = self._line_is_open, False
        return "\n" if was_open else ""


def clean(text: str) -> str:
    """*text* with control characters replaced by visible ones."""
    return visible(text.replace("\r\n", "\n"))


def _text(event: CanonicalEvent, detail: Detail) -> str:
    data = _data(event)
    if event.kind in ("assistant", "reasoning"):
        return clean(str(data.get("text") or ""))
    if event.kind == "session":
        return clean(event.session_id or event.message)
    if event.kind == "completion":
        return clean(_completion(data))
    if event.kind == "action_result":
        return clean(f"{data.get('status') or 'done'}: {event.message}")
    if event.kind == "diagnostic" and detail == "detail":
        return clean(str(data.get("text") or event.message))
    return clean(event.message)


def _completion(data: Mapping[str, Any]) -> str:
    """Status, duration and cost, if the provider reports them. The answer was shown before."""
    parts = [str(data.get("status") or "unknown")]
    if isinstance(milliseconds := data.get("duration_ms"), int | float):
        parts.append(f"{milliseconds / 1000:.1f} s")
    if isinstance(cost := data.get("total_cost_usd"), int | float) and cost:
        parts.append(f"${cost:.4f}")
    return ", ".join(parts)


def _with_mark(event: CanonicalEvent, text: str, style: Style, *, colour: bool) -> str:
    """*text* after its mark; further lines are indented."""
    if style == "plain":
        mark = _PLAIN_MARKS.get(event.kind, "")
        return mark + text.rstrip().replace("\n", "\n" + " " * len(mark))
    mark, rendition = _FANCY_MARKS.get(event.kind, ""), _COLOURS.get(event.kind, "0")
    if _is_bad_end(event):
        mark, rendition = "✘ ", _FAILED_COLOUR
    body = text.rstrip().replace("\n", "\n" + " " * len(mark))
    return f"\x1b[{rendition}m{mark}{body}\x1b[0m" if colour else mark + body


def _is_bad_end(event: CanonicalEvent) -> bool:
    return event.kind == "completion" and _data(event).get("status") != "success"


def _data(event: CanonicalEvent) -> Mapping[str, Any]:
    return event.data or {}
