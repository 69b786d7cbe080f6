"""The queue's rows in SQLite: what each operation does to one connection.

Called by one thread at a time, inside a transaction that the caller begins and commits.
"""

import json
import sqlite3
from pathlib import Path

from posthouse.queue.queue import (
    Accepted,
    Counts,
    Finished,
    Instance,
    QueueUnavailable,
    Request,
    Result,
    Row,
)
from posthouse.queue.statements import named
from posthouse.support import clock, ids

#: Told to whoever asks what became of a request that ran when the gateway died.
DIED_RUNNING = "the gateway stopped while this request ran; it may have reached the agent and is not repeated"
#: Only a foreign writer can make us wait; readers never do.
_BUSY_SECONDS = 1.0
_FIRST, _OWN_RELAUNCH = "first", "relaunch"


def connect(path: Path) -> sqlite3.Connection:
    """Open the file with every commit on disk when it returns.

    Raises:
        QueueUnavailable: It can't be opened or is no database.
    """
    try:
        path.touch(mode=0o600)  # SQLite would create it readable by others
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(named()["schema"])
    except (sqlite3.Error, OSError) as error:
        raise QueueUnavailable(f"{path} can't be used: {error}") from error
    return connection


class Store:
    """The rows behind one connection, and how many of them are open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.counts = Counts()

    def recover(self) -> None:
        """Fail what ran when the last process died; keep what was accepted."""
        now = clock.iso_seconds(clock.now())
        self._run("seed_notifier", now=now)
        self._run("adopt")
        self._run("fail_running", now=now, error=DIED_RUNNING)
        self._run("close_finished")
        self.recount()

    def recount(self) -> None:
        """Learn the counts from the rows again."""
        self.counts = Counts(*self._run("count").fetchone())

    def put(self, request: Request, *, start: bool) -> Accepted:
        moment = clock.now()
        now = clock.iso_seconds(moment)
        request_id = f"gwreq-{clock.compact(moment)}-{ids.hex_id(8)}"
        self._run(
            "put",
            request_id=request_id,
            kind=request.kind,
            payload=json.dumps(request.payload, sort_keys=True, ensure_ascii=False),
            state="running" if start else "accepted",
            now=now,
            started=now if start else None,
            epoch=request.epoch,
        )
        self._run("put_order", request_id=request_id)
        self._count(accepted=0 if start else 1, running=1 if start else 0)
        return Accepted(request_id=request_id, accepted_at_utc=now, depth=self.counts.depth)

    def next(self, epoch: int) -> Row | None:
        found = self._run("next").fetchone()
        if found is None or found[5] != epoch:
            return None
        sequence, request_id, kind, payload, state, _ = found
        return Row(
            sequence=sequence,
            request_id=request_id,
            kind=kind,
            payload=json.loads(payload),
            state=state,
            epoch=epoch,
        )

    def claim(self, request_id: str) -> bool:
        taken = self._run("claim", request_id=request_id, now=clock.iso_seconds(clock.now())).rowcount == 1
        if taken:
            self._count(accepted=-1, running=1)
        return taken

    def release(self, request_id: str) -> bool:
        given = self._run("release", request_id=request_id).rowcount == 1
        if given:
            self._count(accepted=1, running=-1)
        return given

    def finish(self, request_id: str, result: Result) -> Finished | None:
        now = clock.iso_seconds(clock.now())
        running = self._run("kind_of_running", request_id=request_id).fetchone()
        if running is None:
            return None
        kept = {"completed_at_utc": now, "request_kind": running[0]} if result.state == "completed" else None
        self._run(
            "finish",
            request_id=request_id,
            state=result.state,
            now=now,
            error=result.error,
            result=None if kept is None else json.dumps(kept),
        )
        self._run("finish_order", request_id=request_id)
        self._count(running=-1)
        return Finished(request_id=request_id, state=result.state, error=result.error, result=kept)

    def latest_instance(self) -> Instance | None:
        newest = self._run("newest_instance").fetchone()
        if newest is None:
            return None
        return Instance(epoch=newest[0], instance_id=newest[1], is_decided=newest[2] is not None)

    def observe(self, instance_id: str, *, is_known: bool) -> Instance:
        latest = self.latest_instance()
        if latest is not None and latest.instance_id == instance_id:
            return latest
        epoch = 1 if latest is None else latest.epoch + 1
        decision = _decision(is_first=latest is None, is_known=is_known, waiting=self.counts.depth)
        now = clock.iso_seconds(clock.now())
        self._run("add_instance", epoch=epoch, instance_id=instance_id, now=now, decision=decision)
        return Instance(epoch=epoch, instance_id=instance_id, is_decided=decision is not None)

    def _run(self, statement: str, **parameters: object) -> sqlite3.Cursor:
        return self._connection.execute(named()[statement], parameters)

    def _count(self, *, accepted: int = 0, running: int = 0) -> None:
        self.counts = Counts(self.counts.accepted + accepted, self.counts.running + running)


def _decision(*, is_first: bool, is_known: bool, waiting: int) -> str | None:
    if is_first:
        return _FIRST
    return _OWN_RELAUNCH if is_known and waiting == 0 else None
