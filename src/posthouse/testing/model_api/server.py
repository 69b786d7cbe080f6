"""The model API as its user has it: an address, what was asked, and the strings to pull."""

import functools
import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from posthouse.testing.model_api.handler import Handler
from posthouse.testing.model_api.recording import Record, Recorder
from posthouse.testing.model_api.script import Step
from posthouse.testing.model_api.stage import Stage
from posthouse.testing.waiting import LIMIT_SECONDS, NeverHappened, wait_for, witness

_POLL_SECONDS = 0.02
_SHOWN_CALLS = 12
_SHOWN_PROMPT_CHARS = 100


class _Server(socketserver.ThreadingTCPServer):
    """One thread per connection; all of them have ended when it is closed."""

    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: Callable[..., Handler]) -> None:
        super().__init__(address, handler)
        self._connections: set[socket.socket] = set()
        self._connections_lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._connections_lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._connections_lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End every connection, so that no thread waits for a client's next request."""
        with self._connections_lock:
            for connection in self._connections:
                with suppress(OSError):  # the client was quicker
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay quiet about clients that hang up in the middle: here that is what tests are about."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class ModelApi:
    """A model API that listens. Whoever made it ends it: by `stop` while it is served, else by `close`."""

    def __init__(self, host: str, port: int, *, log: Path | None, is_verbose: bool) -> None:
        self._recorder = Recorder(log)
        self._stage = Stage()
        self._server = _Server(
            (host, port),
            functools.partial(Handler, stage=self._stage, recorder=self._recorder, is_verbose=is_verbose),
        )

    @property
    def base_url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def records(self, *, since: int = 0) -> Sequence[Record]:
        """Every call after the one numbered *since*, oldest first."""
        return self._recorder.since(since)

    def main_records(self, *, since: int = 0) -> Sequence[Record]:
        """Those that the agents themselves made, without side calls for titles and such."""
        return [record for record in self.records(since=since) if record.main]

    def mentioning(self, words: str) -> Sequence[int]:
        """The numbers of the newest calls that have *words* anywhere in them."""
        return self._recorder.mentioning(words)

    def wait(
        self, condition: Callable[[Sequence[Record]], bool], *, seconds: float = LIMIT_SECONDS
    ) -> Sequence[Record]:
        """The main records, once *condition* holds for them.

        Raises:
            NeverHappened: It did not within *seconds*; the message shows the last records.
        """
        wait_for(
            lambda: condition(self.main_records()),
            seconds=seconds,
            told=lambda: f"the last calls were {self.main_records()[-4:]}",
        )
        return self.main_records()

    def describe(self) -> str:
        """The last calls, each on a line."""
        last = self.records()[-_SHOWN_CALLS:]
        lines = (
            f"  {one.seq} {one.path} {'main' if one.main else 'side'} {one.step} {one.outcome}: "
            f"{one.prompt[-_SHOWN_PROMPT_CHARS:]!r}"
            for one in last
        )
        return "\n".join([f"last calls of the model API, {self._stage.held} held now", *lines])

    def queue(self, step: Step) -> None:
        """Have *step* answer the next main call, whatever its prompt says."""
        self._stage.queue(step)

    def release(self, *, seconds: float = LIMIT_SECONDS) -> None:
        """Let every held answer go on, once there is one: an agent looks busy before it asks the model.

        Raises:
            NeverHappened: None was held within *seconds*.
        """
        if not self._stage.wait_until_held(seconds):
            raise NeverHappened(f"no answer was held within {seconds:g} s")
        self._stage.release()

    def reset(self) -> None:
        """Forget what was asked, queued and failed."""
        self._stage.reset()
        self._recorder.forget()

    def serve_forever(self) -> None:
        """Serve until `stop` is called from another thread."""
        self._server.serve_forever(poll_interval=_POLL_SECONDS)

    def stop(self) -> None:
        """Stop serving and end every answer where it is. The address is free again afterwards."""
        self._server.shutdown()
        self.close()

    def close(self) -> None:
        """What `stop` does, for one that is not being served."""
        self._stage.close()
        self._server.hang_up()
        self._server.server_close()


def serve(
    host: str = "127.0.0.1", port: int = 0, *, log: Path | None = None, is_verbose: bool = False
) -> ModelApi:
    """A model API that listens; port 0 picks a free one. *log* gets a line per call."""
    return ModelApi(host, port, log=log, is_verbose=is_verbose)


@contextmanager
def running(*, log: Path | None = None) -> Iterator[ModelApi]:
    """A model API on a free loopback port, served until the block ends."""
    api = serve(log=log)
    thread = threading.Thread(target=api.serve_forever, name="model-api")
    thread.start()
    try:
        with witness(api.describe):
            yield api
    finally:
        api.stop()
        thread.join()
