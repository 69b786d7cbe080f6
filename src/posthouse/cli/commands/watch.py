"""`agents watch NAME`: follows an agent's events, across restarts of its gateway."""

import json
import re
import time
from datetime import datetime, timedelta

from posthouse.cli import event_lines, gateways, turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.clients.events import EventFeed, ReceivedEvent, StreamBroken
from posthouse.clients.gateway import GatewayInvalid, GatewayUnavailable, GatewayUnreachable
from posthouse.sessions.session import Session
from posthouse.support import clock

_AGO = re.compile(r"([0-9]{1,6})([smhd])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
#: Poll interval for a gateway that went away.
_POLL_SECONDS = 0.3


def watch_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="first show past events: since 10m, 2h or 1d ago, since an event's id, or from the start",
    )
    parser.add_argument("--kinds", metavar="K,K", help="only events of these kinds, such as completed,failed")


def watch(call: Call) -> int:
    """Show events until Ctrl-C. Waits for a gateway that restarts, without missing events.

    Without a name, all agents in one table.
    """
    if call.command.scope == "short" and call.selection.kind == "self":
        return _all(call)
    if call.pair_port is not None:
        raise UsageError("--port can't be combined with an agent's name: leave out one of them")
    watching = EventWatcher(call, turns.session_of(call.agent()))
    while True:
        watching.follow()
        time.sleep(_POLL_SECONDS)


def _all(call: Call) -> int:
    from posthouse.cli.commands import watch_all

    if call.arguments.since is not None or call.arguments.kinds is not None:
        raise UsageError(f"--since and --kinds need an agent's name: {call.prog} agents watch NAME")
    return watch_all.watch(call)


class EventWatcher:
    """Follows the events of one agent and keeps the position."""

    def __init__(self, call: Call, session: Session) -> None:
        self._call = call
        self._session = session
        self._kinds = [kind for kind in (call.arguments.kinds or "").split(",") if kind]
        self._not_before, self._since = _start(call.arguments.since)
        self._has_reported_absence = False

    def follow(self) -> None:
        """Show events until the connection to the gateway breaks."""
        client = gateways.client_of(self._call.wiring, self._session)
        if client is None:
            self._report_absence()
            return
        try:
            with client.events(since=self._since, kinds=self._kinds) as feed:
                self._has_reported_absence = False
                self._show_events(feed)
        except GatewayInvalid as error:
            raise UsageError(str(error)) from error
        except (GatewayUnreachable, GatewayUnavailable, StreamBroken):
            self._report_absence()

    def _show_events(self, feed: EventFeed) -> None:
        try:
            for event in feed:
                self._show(event)
        finally:
            self._since = feed.last_id or self._since

    def _show(self, event: ReceivedEvent) -> None:
        if self._is_too_old(event):
            return
        if self._call.output.is_json:
            value = {"event_id": event.event_id, **event.fields}
            self._call.output.line(json.dumps(value, sort_keys=True, ensure_ascii=False))
        else:
            self._call.output.line(_text(event))

    def _is_too_old(self, event: ReceivedEvent) -> bool:
        if self._not_before is None:
            return False
        moment = event_lines.time_of(event.fields)
        if moment is None or clock.parse(moment) < self._not_before:
            return True
        self._not_before = None  # all later events are newer
        return False

    def _report_absence(self) -> None:
        if not self._has_reported_absence:
            self._has_reported_absence = True
            self._call.notice(f"{self._session.agent_name} has no gateway now; waiting for it (Ctrl-C ends)")


def _start(since: str | None) -> tuple[datetime | None, str | None]:
    """The time from which events are shown, and the event id from which they are requested."""
    if since is None:
        return None, None
    if (ago := _AGO.fullmatch(since)) is None:
        return None, since
    return clock.now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])}), "start"


def _text(event: ReceivedEvent) -> str:
    if event.kind != "gap":
        return event_lines.format_event(event.fields)
    missing = event.fields.get("missing")
    return f"-- {'some' if missing is None else missing} events are missing: {event.fields.get('reason')} --"
