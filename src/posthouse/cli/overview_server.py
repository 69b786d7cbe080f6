"""The overview of all agents from a coordination server. Only agents that changed are fetched again."""

import threading
from dataclasses import replace
from datetime import datetime
from typing import Any

from posthouse.cli import tui_state_view
from posthouse.cli.overview import AgentLine
from posthouse.clients.events import ReceivedEvent
from posthouse.clients.server import ServerClient, responses
from posthouse.errors import NotFound, PosthouseError, Unavailable
from posthouse.support import clock

#: Events after which the whole list is fetched again.
_LIST_CHANGES = frozenset(
    {"agent_appeared", "agent_stopped", "agent_gone", "record_problem", "record_mended", "gap"}
)
#: Delay between attempts to reconnect to the event stream.
_RECONNECT_SECONDS = 1.0


class ServerOverview:
    """The agents of one server. `refresh` is for one thread; another one follows the events."""

    def __init__(self, client: ServerClient) -> None:
        self.client = client
        #: Set when an agent has changed since the last `refresh`.
        self.changed = threading.Event()
        self._lines: dict[str, AgentLine] = {}
        self._stale: set[str] | None = None
        self._lock = threading.Lock()
        self._is_closed = threading.Event()

    def start(self) -> None:
        """Follow events in a daemon thread until `close`."""
        threading.Thread(target=self._follow_events, name="events", daemon=True).start()

    def close(self) -> None:
        """Stop following events. An open stream is read until its server ends it."""
        self._is_closed.set()

    def refresh(self) -> list[AgentLine]:
        """One line for each running agent, sorted by name.

        Raises:
            Unavailable: The server does not answer.
        """
        with self._lock:
            stale, self._stale = self._stale, set()
            self.changed.clear()
        try:
            self._update(stale)
        except PosthouseError:
            with self._lock:
                self._stale = None
            raise
        return [*self._lines.values()]

    def _update(self, stale: set[str] | None) -> None:
        if stale is None:
            agents = {one.tracked_agent_id: one for one in self.client.agents().agents}
            self._lines = {ref: self._line(one) for ref, one in agents.items()}
            return
        for ref in stale & self._lines.keys():
            try:
                self._lines[ref] = self._line(self.client.agent(ref))
            except NotFound:
                del self._lines[ref]

    def _line(self, identity: responses.Identity) -> AgentLine:
        ref = identity.tracked_agent_id
        try:
            return self._line_from_summary(self.client.state(ref))
        except (NotFound, Unavailable):
            # This agent has just ended, or its own machine does not respond.
            return AgentLine(
                agent_id=ref,
                name=identity.agent_name or ref,
                tool=identity.tool,
                kind=identity.transport,
                state="?",
            )

    def _line_from_summary(self, summary: responses.Summary) -> AgentLine:
        identity, ref = summary.identity, summary.tracked_agent_id
        tui = tui_state(self.client, summary)
        state = summary.turn.phase if summary.availability == "available" else summary.availability
        old = self._lines.get(ref)
        line = AgentLine(
            agent_id=ref,
            name=identity.agent_name or ref,
            tool=identity.tool,
            kind=identity.transport
            if identity.management_kind != "external_communication_only"
            else "external",
            state=state if tui is None else tui_state_view.describe(tui),
            since=_parse_time(summary.last_turn.updated_at_utc if tui is None else tui["state_since_utc"]),
            queue=None if summary.gateway is None else summary.gateway.queue_depth,
            last="error" if summary.last_turn.result == "known_failure" else summary.last_turn.result,
        )
        if tui is not None or old is None:
            return line
        # A summary has no start time: use the time at which the state was seen to change.
        return replace(line, since=old.since if old.state == line.state else clock.now())

    def _follow_events(self) -> None:
        since: str | None = None
        while not self._is_closed.is_set():
            try:
                with self.client.events(since=since) as feed:
                    self._mark_all_stale()  # events before the connection are not in the stream
                    for event in feed:
                        self._mark_stale(event)
                        since = feed.last_id
            except (Unavailable, NotFound):  # the server ended, or has no event stream
                pass
            self._mark_all_stale()
            self._is_closed.wait(_RECONNECT_SECONDS)

    def _mark_stale(self, event: ReceivedEvent) -> None:
        ref = event.fields.get("agent_id")
        with self._lock:
            if event.kind in _LIST_CHANGES or not isinstance(ref, str):
                self._stale = None
            elif self._stale is not None:
                self._stale.add(ref)
            self.changed.set()

    def _mark_all_stale(self) -> None:
        with self._lock:
            self._stale = None
            self.changed.set()


def tui_state(client: ServerClient, summary: responses.Summary) -> dict[str, Any] | None:
    """The inferred TUI state of a live gateway, more detailed than the summary; None if unavailable."""
    gateway = summary.gateway
    if summary.identity.transport != "tui" or gateway is None or gateway.gateway_health != "healthy":
        return None
    try:
        return client.gateway(summary.tracked_agent_id).tui_belief()
    except PosthouseError:  # unsupported by the server, or the gateway is ending
        return None


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else clock.parse(text)
