"""`agents watch NAME`: what happens to an agent, as it happens, whatever becomes of its gateway meanwhile."""

import json
import re
import time
from datetime import datetime, timedelta

from posthouse.cli import event_lines, gateways, turns
from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.clients.events import EventFeed, Heard, StreamBroken
from posthouse.clients.gateway import GatewayInvalid, GatewayUnavailable, GatewayUnreachable
from posthouse.sessions.session import Session
from posthouse.support import clock

_AGO = re.compile(r"([0-9]{1,6})([smhd])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
#: Between looks for a gateway that went away.
_LOOK_SECONDS = 0.3


def watch_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="first what happened since: 10m, 2h or 1d ago, an event's id, or start for all that is kept",
    )
    parser.add_argument("--kinds", metavar="K,K", help="only these kinds of events, such as completed,failed")


def watch(call: Call) -> int:
    """Show events until Ctrl-C; a gateway that restarts is waited for, and nothing is missed.

    Without a name, all agents in one table.
    """
    if call.command.scope == "short" and call.selection.kind == "self":
        return _all(call)
    if call.pair_port is not None:
        raise UsageError("the events of one agent are its gateway's: leave out --port, or the name")
    watching = Watching(call, turns.session_of(call.agent()))
    while True:
        watching.until_it_breaks()
        time.sleep(_LOOK_SECONDS)


def _all(call: Call) -> int:
    from posthouse.cli.commands import watch_all

    if call.arguments.since is not None or call.arguments.kinds is not None:
        raise UsageError(f"--since and --kinds are of one agent's events: {call.prog} agents watch NAME")
    return watch_all.watch(call)


class Watching:
    """One person who watches: how far they have seen."""

    def __init__(self, call: Call, found: Session) -> None:
        self._call = call
        self._found = found
        self._kinds = [kind for kind in (call.arguments.kinds or "").split(",") if kind]
        self._not_before, self._since = _beginning(call.arguments.since)
        self._is_told_of_absence = False

    def until_it_breaks(self) -> None:
        """Show what the gateway tells, as long as there is one that tells."""
        client = gateways.client_of(self._call.wiring, self._found)
        if client is None:
            self._complain_once()
            return
        try:
            with client.events(since=self._since, kinds=self._kinds) as feed:
                self._is_told_of_absence = False
                self._follow(feed)
        except GatewayInvalid as error:
            raise UsageError(str(error)) from error
        except (GatewayUnreachable, GatewayUnavailable, StreamBroken):
            self._complain_once()

    def _follow(self, feed: EventFeed) -> None:
        try:
            for heard in feed:
                self._show(heard)
        finally:
            self._since = feed.last_id or self._since

    def _show(self, heard: Heard) -> None:
        if self._is_too_old(heard):
            return
        if self._call.output.is_json:
            told = {"event_id": heard.event_id, **heard.fields}
            self._call.output.line(json.dumps(told, sort_keys=True, ensure_ascii=False))
        else:
            self._call.output.line(_text(heard))

    def _is_too_old(self, heard: Heard) -> bool:
        if self._not_before is None:
            return False
        moment = event_lines.moment_of(heard.fields)
        if moment is None or clock.parse(moment) < self._not_before:
            return True
        self._not_before = None  # the rest is newer
        return False

    def _complain_once(self) -> None:
        if not self._is_told_of_absence:
            self._is_told_of_absence = True
            self._call.complain(f"{self._found.agent_name} has no gateway now; waiting for it (Ctrl-C ends)")


def _beginning(since: str | None) -> tuple[datetime | None, str | None]:
    """From which moment on events are shown, and from which event on they are asked for."""
    if since is None:
        return None, None
    if (ago := _AGO.fullmatch(since)) is None:
        return None, since
    return clock.now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])}), "start"


def _text(heard: Heard) -> str:
    if heard.kind != "gap":
        return event_lines.told(heard.fields)
    missing = heard.fields.get("missing")
    return f"-- {'some' if missing is None else missing} events are missing: {heard.fields.get('reason')} --"
