"""All agents at a glance, as a coordination server tells of them: asked again only about what changed."""

import threading
from dataclasses import replace
from datetime import datetime
from typing import Any

from posthouse.cli import tui_state_view
from posthouse.cli.overview import Line
from posthouse.clients.events import Heard
from posthouse.clients.server import CoordinationClient, responses
from posthouse.errors import NotFound, PosthouseError, Unavailable
from posthouse.support import clock

#: After these the list itself is another one.
_COMINGS_AND_GOINGS = frozenset(
    {"agent_appeared", "agent_stopped", "agent_gone", "record_problem", "record_mended", "gap"}
)
#: Between tries to hear a server that went away.
_AGAIN_SECONDS = 1.0


class ServerOverview:
    """What one server says of its agents. `look` is for one thread; another one hears of changes."""

    def __init__(self, client: CoordinationClient) -> None:
        self.client = client
        #: Set when there is something new to see.
        self.news = threading.Event()
        self._lines: dict[str, Line] = {}
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

    def _renew(self, stale: set[str] | None) -> None:
        if stale is None:
            agents = {one.tracked_agent_id: one for one in self.client.agents().agents}
            self._lines = {ref: self._line(one) for ref, one in agents.items()}
            return
        for ref in stale & self._lines.keys():
            try:
                self._lines[ref] = self._line(self.client.agent(ref))
            except NotFound:
                del self._lines[ref]

    def _line(self, who: responses.Identity) -> Line:
        ref = who.tracked_agent_id
        try:
            return self._seen(self.client.state(ref))
        except (NotFound, Unavailable):
            # Of this one alone: it has just gone, or its own machine does not answer.
            return Line(
                agent_id=ref, name=who.agent_name or ref, tool=who.tool, kind=who.transport, state="?"
            )

    def _seen(self, summary: responses.Summary) -> Line:
        who, ref = summary.identity, summary.tracked_agent_id
        belief = believed(self.client, summary)
        state = summary.turn.phase if summary.availability == "available" else summary.availability
        old = self._lines.get(ref)
        line = Line(
            agent_id=ref,
            name=who.agent_name or ref,
            tool=who.tool,
            kind=who.transport if who.management_kind != "external_communication_only" else "external",
            state=state if belief is None else tui_state_view.in_words(belief),
            since=_moment(summary.last_turn.updated_at_utc if belief is None else belief["state_since_utc"]),
            queue=None if summary.gateway is None else summary.gateway.queue_depth,
            last="error" if summary.last_turn.result == "known_failure" else summary.last_turn.result,
        )
        if belief is not None or old is None:
            return line
        # A summary does not say since when; what was seen to change does.
        return replace(line, since=old.since if old.state == line.state else clock.now())

    def _hear(self) -> None:
        since: str | None = None
        while not self._is_over.is_set():
            try:
                with self.client.events(since=since) as feed:
                    self._all_again()  # of what happened before this, nobody tells
                    for heard in feed:
                        self._take(heard)
                        since = feed.last_id
            except (Unavailable, NotFound):  # it went away, or is older than its events
                pass
            self._all_again()
            self._is_over.wait(_AGAIN_SECONDS)

    def _take(self, heard: Heard) -> None:
        ref = heard.fields.get("agent_id")
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


def believed(client: CoordinationClient, summary: responses.Summary) -> dict[str, Any] | None:
    """What a live gateway believes of a TUI: more than ready and active; None where nobody can be asked."""
    gateway = summary.gateway
    if summary.identity.transport != "tui" or gateway is None or gateway.gateway_health != "healthy":
        return None
    try:
        return client.gateway(summary.tracked_agent_id).tui_belief()
    except PosthouseError:  # a server of another make, or a gateway that is just ending: the summary counts
        return None


def _moment(text: str | None) -> datetime | None:
    return None if text is None else clock.parse(text)
