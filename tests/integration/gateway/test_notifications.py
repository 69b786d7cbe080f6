"""Commands and webhooks around a gateway: told, told again after trouble, and never in anybody's way."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import notification_files as tf
from posthouse.events.journal import Journal
from posthouse.events.readers import EventReaders
from posthouse.gateway.notifications import command, delivery_status, dispatcher
from posthouse.gateway.notifications.dispatcher import NotificationContext, NotificationDispatcher
from posthouse.gateway.notifications.message import AgentIdentity, notice_of, trial_notice
from posthouse.gateway.notifications.targets import TargetFiles
from posthouse.support import processes
from posthouse.support.supervision import Supervisor
from posthouse.testing.waiting import LIMIT_SECONDS

Play = Callable[[Journal], Awaitable[None]]


class Receiver:
    """A web server that answers as it is told, and keeps what it got."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        #: Statuses of the next answers; then 200.
        self.answers: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook?x=1"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def around(tmp_path: Path) -> NotificationContext:
    whose = AgentIdentity(agent_id="gpu-id", agent_name="gpu")
    return NotificationContext(files=TargetFiles(tmp_path), agent=whose, folder=tmp_path)


def play(around: NotificationContext, story: Play) -> None:
    """Run *story* beside the teller of a gateway, which is stopped as a gateway stops."""

    async def run() -> None:
        journal = Journal(around.folder / "events.jsonl")
        telling = NotificationDispatcher(around, journal, EventReaders(journal), logging.getLogger("test"))
        telling.start()
        try:
            await story(journal)
        finally:
            await telling.stop()
            journal.close()

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def end(journal: Journal, request_id: str, stage: str = "completed") -> None:
    journal.add("request_stage", request_id=request_id, stage=stage, evidence={})


def requests(receiver: Receiver) -> list[str]:
    return [json.loads(body)["event"]["request_id"] for _, body in receiver.got]


def test_a_target_whose_task_died_is_notified_of_everything_all_the_same(
    around: NotificationContext, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is started again where it stood; what it died at is not left out."""
    around.files.add(["failed"], url=receiver.url)
    deaths: list[int] = []
    real = notice_of

    def dies_twice(*given: Any) -> Any:
        if len(deaths) < 2:
            deaths.append(1)
            raise RecursionError("too deep")
        return real(*given)

    monkeypatch.setattr(
        f"{dispatcher.__name__}.notice_of", dies_twice
    )  # a stand-in: it does not die on demand
    defaults = Supervisor.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "first_delay_seconds", 0.01)

    async def story(journal: Journal) -> None:
        end(journal, "one", "failed")
        end(journal, "two", "failed")
        await until(lambda: len(receiver.got) == 2)

    play(around, story)

    assert requests(receiver) == ["one", "two"]


def test_a_webhook_gets_signed_notices_of_what_it_asked_for(
    around: NotificationContext, receiver: Receiver
) -> None:
    """And of nothing else; the signature is over id, time and body."""
    made = around.files.add(["failed"], url=receiver.url)

    async def story(journal: Journal) -> None:
        end(journal, "one", "completed")
        end(journal, "two", "failed")
        await until(lambda: _told(around, made) == 1)

    play(around, story)

    ((headers, body),) = receiver.got
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    proof = hmac.new(around.files.secret(made.target_id), signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(proof).decode()}"
    assert (requests(receiver), headers["content-type"]) == (["two"], "application/json")


def test_what_was_refused_is_sent_again_with_the_same_id(
    around: NotificationContext, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is taken; what comes after it waits its turn."""
    monkeypatch.setattr(delivery_status, "DELAYS", (0.01,) * 5)
    receiver.answers = [503, 302]
    made = around.files.add(["finished"], url=receiver.url)

    async def story(journal: Journal) -> None:
        end(journal, "one")
        end(journal, "two")
        await until(lambda: _told(around, made) == 2)

    play(around, story)

    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert requests(receiver) == ["one", "one", "one", "two"]
    assert len(set(ids)) == 2


def test_a_target_that_never_answers_well_is_given_up_and_it_is_said(
    around: NotificationContext, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last attempt the next event has its turn, and `notify list` shows what happened."""
    monkeypatch.setattr(delivery_status, "DELAYS", (0.01, 0.01))
    receiver.answers = [500] * 3
    made = around.files.add(["finished"], url=receiver.url)

    async def story(journal: Journal) -> None:
        end(journal, "one")
        await until(lambda: _state(around, made).given_up == 1)
        lost = _state(around, made)
        end(journal, "two")
        await until(lambda: _told(around, made) == 1)

        assert lost.last is not None
        assert (lost.last.outcome, lost.last.attempts, lost.last.detail) == ("given_up", 3, "answered 500")

    play(around, story)

    assert requests(receiver) == ["one", "one", "one", "two"]


def test_a_restart_forgets_nobody(around: NotificationContext, receiver: Receiver) -> None:
    """What was not told to its end is told by the next gateway; the rest is not repeated."""
    made = around.files.add(["finished"], url=receiver.url)

    async def before(journal: Journal) -> None:
        end(journal, "one")
        await until(lambda: _told(around, made) == 1)

    async def between(journal: Journal) -> None:
        end(journal, "two")  # and the gateway stops before anybody could be told

    async def after(journal: Journal) -> None:
        end(journal, "three")
        await until(lambda: _told(around, made) == 3)

    for story in (before, between, after):
        play(around, story)

    # The one of the gateway that stopped may have got out in its last moment.
    assert list(dict.fromkeys(requests(receiver))) == ["one", "two", "three"]


def test_a_target_is_told_from_when_it_was_added_until_it_is_removed(
    around: NotificationContext, receiver: Receiver
) -> None:
    """A gateway that runs notices both, without being told."""

    async def story(journal: Journal) -> None:
        end(journal, "early")
        await asyncio.sleep(0)  # targets are looked for once in a round of the loop
        made = around.files.add(["finished"], url=receiver.url)
        end(journal, "one")
        await until(lambda: _told(around, made) == 1)
        around.files.remove(made.target_id)
        end(journal, "late")

    play(around, story)

    assert requests(receiver) == ["one"]


def test_a_command_gets_the_notice_and_no_secrets(
    around: NotificationContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its standard input; of our environment only what every program needs; no shell reads its words."""
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    script = (
        "import json, os, sys; "
        "json.dump([json.load(sys.stdin), dict(os.environ), sys.argv[1:]], open('got', 'w'))"
    )
    made = around.files.add(["finished"], command=[sys.executable, "-c", script, "$HOME; touch oops"])

    async def story(journal: Journal) -> None:
        end(journal, "one")
        await until(lambda: _told(around, made) == 1)

    play(around, story)

    told, environment, words = json.loads((tmp_path / "got").read_text())
    assert (told["event"]["request_id"], told["text"]) == ("one", "gpu finished a prompt")
    assert words == ["$HOME; touch oops"]
    assert "s3cret" not in json.dumps(environment)
    assert environment[command.OCCASION] == "finished"


def test_nothing_of_a_command_is_left_over(around: NotificationContext, tmp_path: Path) -> None:
    """Neither one that hangs, nor what it started in a session of its own."""
    script = (
        "import subprocess, sys, time; "
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True); "
        "open('started', 'w').close(); print('so far'); sys.stdout.flush(); time.sleep(600)"
    )
    made = around.files.add(["finished"], command=[sys.executable, "-c", script], timeout_seconds=600)

    async def story(journal: Journal) -> None:
        end(journal, "one")
        await until((tmp_path / "started").exists)

    play(around, story)  # stops while the command runs

    deadline = time.monotonic() + LIMIT_SECONDS
    while left := processes.with_variable(command.MARK, made.target_id):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
    assert _told(around, made) == 0


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        ("import sys; print('no such channel'); sys.exit(3)", "command exited with 3: no such channel"),
        ("import time; time.sleep(600)", "command did not end within 2 s:"),
    ],
    ids=["fails", "hangs"],
)
def test_a_command_that_fails_says_how(around: NotificationContext, script: str, detail: str) -> None:
    """The end of what it said is kept for whoever asks."""
    made = around.files.add(["finished"], command=[sys.executable, "-c", script], timeout_seconds=2)

    told = asyncio.run(dispatcher.deliver(made, trial_notice(around.agent, "finished"), around))

    assert (told.is_delivered, told.detail) == (False, detail)


def test_a_program_that_is_not_there_is_an_outcome(around: NotificationContext) -> None:
    """Not an error of the gateway."""
    made = around.files.add(["finished"], command=["/nowhere/at/all"])

    told = asyncio.run(dispatcher.deliver(made, trial_notice(around.agent, "finished"), around))

    assert not told.is_delivered
    assert told.detail.startswith("command can't be run: ")


def _state(around: NotificationContext, made: tf.Target) -> tf.TargetState:
    state = around.files.state(made.target_id)
    return state or tf.TargetState(after="0-end")


def _told(around: NotificationContext, made: tf.Target) -> int:
    return _state(around, made).delivered
