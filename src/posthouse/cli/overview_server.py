"""All agents at a glance, as a coordination server tells of them: asked again only about what changed."""

import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from posthouse.cli import believing
from posthouse.cli.overview import Line
from posthouse.clients.coordination import CoordinationClient, answers
from posthouse.clients.events import Heard
from posthouse.errors import NotFound, PosthouseError, Unavailable
from posthouse.support import clock

#: After these the list itself is another one.
_COMINGS_AND_GOINGS = frozenset(
    {"agent_appeared", "agent_stopped", "agent_gone", "record_problem", "record_mended", "gap"}
)
_TOLD_OF_TUIS = "tui_state"
#: Between tries to hear a server that went away.
_AGAIN_SECONDS = 1.0


class ServerOverview:
    """What one server says of its agents. `look` is for one thread; another one hears of changes."""

    def __init__(self, client: CoordinationClient) -> None:
        self.client = client
        #: Set when there is something new to see.
        self.news = threading.Event()
        self._lines: dict[str, Line] = {}
        #: What TUIs were last seen to do; a summary knows only ready and active.
        self._beliefs: dict[str, Mapping[str, Any]] = {}
        self._stale: set[str] | None = None
        self._lock = threading.Lock()
        self._is_over = threading.Event()

    def listen(self) -> None:
        """Hear of changes in a thread, which ends with this process, or after `close`."""
        threading.Thread(target=self._hear, name="events", daemon=True).start()

    def close(self) -> None:
        """Hear no more. A stream that is open is read until its server ends it."""
        self._is_over.set()

    def look(self) -> list[Line]:
        """Every agent that runs, by name.

        Raises:
            Unavailable: The server does not answer.
        """
        with self._lock:
            stale, self._stale = self._stale, set()
            self.news.clear()
        try:
            self._renew(stale)
        except PosthouseError:
            with self._lock:
                self._stale = None
            raise
        return [*self._lines.values()]

    def _renew(self, stale: Iterable[str] | None) -> None:
        if stale is None:
            agents = {one.tracked_agent_id: one for one in self.client.agents().agents}
            self._lines = {ref: self._line(one) for ref, one in agents.items()}
            return
        for ref in stale:
            if (old := self._lines.get(ref)) is not None:
                self._lines[ref] = self._line(self.client.agent(old.agent_id))

    def _line(self, who: answers.Identity) -> Line:
        ref = who.tracked_agent_id
        try:
            return self._seen(self.client.state(ref))
        except (NotFound, Unavailable):
            # Of this one alone: it has just gone, or its own machine does not answer.
            return Line(
                agent_id=ref, name=who.agent_name or ref, tool=who.tool, kind=who.transport, state="?"
            )

    def _seen(self, summary: answers.Summary) -> Line:
        who, ref = summary.identity, summary.tracked_agent_id
        state: str = summary.turn.phase if summary.availability == "available" else summary.availability
        belief = self._beliefs.get(ref)
        if belief is not None and summary.gateway is not None and summary.availability == "available":
            state = believing.in_words(belief)
        ended = summary.last_turn.updated_at_utc
        old = self._lines.get(ref)
        changed_at = clock.now() if old is not None else _moment(ended)
        return Line(
            agent_id=ref,
            name=who.agent_name or ref,
            tool=who.tool,
            kind=who.transport if who.management_kind != "external_communication_only" else "external",
            state=state,
            since=old.since if old is not None and old.state == state else changed_at,
            queue=None if summary.gateway is None else summary.gateway.queue_depth,
            last="error" if summary.last_turn.result == "known_failure" else summary.last_turn.result,
        )

    def _hear(self) -> None:
        since = self._past()
        while not self._is_over.is_set():
            try:
                with self.client.events(since=since) as feed:
                    for heard in feed:
                        self._take(heard)
                        since = feed.last_id
            except (Unavailable, NotFound):  # it went away, or is older than its events
                pass
            self._all_again()
            self._is_over.wait(_AGAIN_SECONDS)

    def _past(self) -> str | None:
        """Learn what TUIs did before; the id after which everything is new."""
        try:
            with self.client.events(since="start", kinds=(_TOLD_OF_TUIS,), follow=False) as feed:
                for heard in feed:
                    self._take(heard)
                return feed.last_id
        except (Unavailable, NotFound):
            return None

    def _take(self, heard: Heard) -> None:
        ref = heard.fields.get("agent_id")
        if heard.kind == _TOLD_OF_TUIS and isinstance(ref, str):
            self._beliefs[ref] = heard.fields
        with self._lock:
            if heard.kind in _COMINGS_AND_GOINGS or not isinstance(ref, str):
                self._stale = None
            elif self._stale is not None:
                self._stale.add(ref)
            self.news.set()

    def _all_again(self) -> None:
        with self._lock:
            self._stale = None
            self.news.set()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else clock.parse(text)
