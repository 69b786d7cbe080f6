"""One agent under trial: its session, its gateway's present life, and what can be asked of them."""

import asyncio
import http.client
import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posthouse import tools
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names
from posthouse.events.journal import read_events
from posthouse.gateway.reminders.events import LOST
from posthouse.gateway_lifecycle import attach
from posthouse.queue import Request, open_queue
from posthouse.sessions import secrets
from posthouse.sessions.session import Session
from posthouse.support import files
from posthouse.terminal import session as terminal
from posthouse.terminal import variable_files
from posthouse.terminal.screen import plain
from posthouse.testing.crash.judging import Story
from posthouse.testing.crash.life import GatewayLife
from posthouse.testing.scripted_agents import House
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.turns import runner

#: Each look is a question to the gateway, and a step of its own.
_POLL_SECONDS = 0.03
#: Who types does not take so long: a text that stands there longer was left by somebody who died.
_LEFT_SECONDS = 1.0
#: A receipt in one of these states has not come to its end.
OPEN = ("accepted", "running")


@dataclass(frozen=True, slots=True)
class Answered:
    """What a gateway answered; `status` is 0 when it did not."""

    status: int
    body: Mapping[str, Any]

    @property
    def is_yes(self) -> bool:
        return 200 <= self.status < 300


class Subject:
    """An agent whose gateway dies again and again."""

    def __init__(self, house: House, session: Session) -> None:
        self.house = house
        self.session = session
        self.truth = house.truth(session)
        self.folder = files.private_folder(house.folder / f"lives-{session.agent_name}")
        self.life: GatewayLife | None = None
        self._port = 0
        #: The request that a scenario has left waiting.
        self.waiting_id = ""
        #: When a scenario enabled the notifier, and how many audit rows there were then.
        self.watched_from = (0.0, 0)
        #: Since when a text stands in the composer while nobody types.
        self._draft_since: float | None = None

    # --- its gateway -----------------------------------------------------------------------

    def live(self, *, fuse: str | None = None) -> GatewayLife:
        """Begin a life of the gateway; the one before is over."""
        self.life = GatewayLife(self.session, self.folder, fuse=fuse)
        return self.life

    def serve(self) -> GatewayLife:
        """A life that serves: the present one, or a new one."""
        life = self.life if self.life is not None and not self.life.is_over else self.live()
        self._port = life.serving().port
        return life

    def use(self, instance: gf.CurrentInstance) -> None:
        """Ask this gateway from now on, which is no life of ours."""
        self._port = instance.port

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, key: str | None = None
    ) -> Answered:
        """One question to the gateway."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LIMIT_SECONDS)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            return Answered(response.status, json.loads(response.read() or b"{}"))
        except (OSError, http.client.HTTPException, ValueError):
            return Answered(0, {})
        finally:
            connection.close()

    def put_in_queue(self, text: str) -> None:
        """Leave an accepted prompt, as a gateway would that died just then."""
        asyncio.run(_put(self.session.gateway_root / gf.QUEUE, text))

    # --- its turns -------------------------------------------------------------------------

    def arm_bridge(self, fuse: str | None) -> None:
        """Set the fuse of the bridges to come."""
        values = variable_files.read(secrets.file_of(self.session.root))
        values.pop(names.CRASH_AT, None)
        if fuse is not None:
            values[names.CRASH_AT] = fuse
        secrets.write(self.session.root, values)

    def stop_work(self) -> None:
        """Do what a person does who wants the agent back: interrupt it."""
        if self.session.manifest.is_headless:
            if turn := runner.active(self.session.turns_root):
                turn.interrupt()
        elif self.surface() == "active":
            self._press("Escape")

    def tidy(self) -> None:
        """Do what a person does who finds half a prompt in the composer for a while: delete it."""
        if self.session.manifest.is_headless or self.surface() != "draft":
            self._draft_since = None
            return
        now = time.monotonic()
        self._draft_since = self._draft_since or now
        if now - self._draft_since > _LEFT_SECONDS:
            self._press("C-u")
            self._draft_since = None

    def surface(self) -> str:
        tool = tools.load(self.session.manifest.tool)
        return tool.read_surface(terminal.capture(self.session.tmux, self._pane_id())).state

    def shows(self, text: str) -> bool:
        """Whether the agent's pane shows *text*: a bridge has no other place for its last words."""
        rows = terminal.capture(self.session.tmux, self._pane_id()).rows
        return any(text in plain(row) for row in rows)

    def _press(self, key: str) -> None:
        self.session.tmux.run("send-keys", "-t", self._pane_id(), key)

    def _pane_id(self) -> str:
        return terminal.agent_pane(self.session.tmux, self.session.tmux_session_name).pane_id

    # --- what is known ---------------------------------------------------------------------

    def is_at_rest(self) -> bool:
        """Whether nothing waits, runs or is still being found out."""
        status = self.ask("GET", "/v1/status").body
        if status.get("active_execution") != "idle":
            self._draft_since = None
            return False
        if self.session.manifest.is_headless:
            if runner.active(self.session.turns_root) is not None:
                return False
        elif self.surface() != "ready":
            self.tidy()
            return False
        if status["queue_depth"]:
            return False
        return not any(receipt["state"] in OPEN for receipt in self.receipts())

    def receipts(self) -> list[Mapping[str, Any]]:
        """The newest receipts."""
        answer = self.ask("GET", "/v1/requests?limit=20")
        found: list[Mapping[str, Any]] = list(answer.body.get("requests", []))
        return found

    def story(self, text: str) -> Story:
        """What is on disk about the prompt *text*."""
        found = [one for one in self.receipts() if one["prompt_preview"] == text]
        rows = [state for prompt, state in self._rows() if prompt == text]
        return Story(
            receipt=found[0]["state"] if found else None,
            error=found[0]["error"] if found else None,
            row=rows[0] if rows else None,
            is_told_lost=self._is_told_lost(text),
        )

    def _rows(self) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self.session.gateway_root / gf.QUEUE)) as connection:
            found = connection.execute(
                "SELECT payload_json, state FROM gateway_requests ORDER BY rowid DESC LIMIT 20"
            ).fetchall()
        return [(json.loads(payload).get("prompt", ""), state) for payload, state in found]

    def _is_told_lost(self, text: str) -> bool:
        """Whether the events say that the reminder with that title ended with its gateway."""
        lost: set[str | None] = set()
        titles: dict[str | None, str | None] = {}
        for event in read_events(self.session.gateway_root / gf.EVENTS, mentioning='"reminder_'):
            titles.setdefault(event.get("reminder_id"), event.get("title"))
            if event["kind"] == LOST:
                lost.add(titles.get(event.get("reminder_id")))
        return text in lost

    def until(self, condition: Callable[[], object], *, seconds: float = LIMIT_SECONDS) -> bool:
        """Wait for *condition*; False when it did not come."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def end(self) -> None:
        """End whatever serves or runs."""
        if self.life is not None:
            self.life.end()
        attach.detach(self.session, self.house.registry)
        if turn := runner.active(self.session.turns_root):
            turn.kill()


async def _put(path: Path, text: str) -> None:
    queue = await open_queue(path)
    instance = await queue.latest_instance()
    assert instance is not None
    await queue.put(Request(kind="submit_prompt", payload={"prompt": text}, epoch=instance.epoch))
    await queue.close()
