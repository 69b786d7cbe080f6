"""What the model API was really asked, to hold claims of delivery against."""

import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from posthouse.testing.model_api.script import last_prompt
from posthouse.testing.model_api.wire import Call

#: How much of a long prompt's end is kept; its hash is of the whole.
PROMPT_TAIL_CHARS = 2000
#: Of so many calls the whole request can be searched.
_KEPT_BODIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call as it came in."""

    api: str
    path: str
    call: Call
    body: bytes
    #: The directive that answers it.
    step: str
    user_agent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One call; the fields are the keys of `GET /_mock/requests`."""

    seq: int
    at: float
    #: `anthropic`, `openai` or `gemini`.
    api: str
    path: str
    model: str | None
    #: Whether the agent itself asked: side calls repeat prompts and count for nothing.
    main: bool
    bytes: int
    #: How many times the user has spoken in the conversation.
    turns: int
    #: The last thing said; only its end when it is long.
    prompt: str
    prompt_chars: int
    prompt_sha256: str
    tools: tuple[str, ...]
    step: str
    effort: Any
    stream: bool
    user_agent: str | None
    #: `started`, `completed`, `error <status>`, `client_gone` or `dropped`.
    outcome: str = "started"
    gone_after_s: float | None = None


class Recorder:
    """Keeps the calls in order; any thread may add to it and read it."""

    def __init__(self, log: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._log = log
        self._next_seq = 1
        self._records: dict[int, Record] = {}
        self._bodies: deque[tuple[int, bytes]] = deque(maxlen=_KEPT_BODIES)

    def begin(self, asked: Asked) -> Record:
        """Record a call; also a line of the log, when there is one."""
        with self._lock:
            record = _record(asked, self._next_seq)
            self._next_seq += 1
            self._records[record.seq] = record
            self._bodies.append((record.seq, asked.body))
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
        return record

    def end(self, record: Record, outcome: str, *, gone_after_s: float | None = None) -> None:
        """Note how a call ended; the last word counts. One that was forgotten meanwhile stays forgotten."""
        with self._lock:
            known = self._records.get(record.seq)
            if known is not None and known.at == record.at:
                self._records[record.seq] = replace(record, outcome=outcome, gone_after_s=gone_after_s)

    def since(self, seq: int) -> Sequence[Record]:
        """The calls after the one numbered *seq*, oldest first."""
        with self._lock:
            return [record for record in self._records.values() if record.seq > seq]

    def mentioning(self, words: str) -> Sequence[int]:
        """The numbers of the newest calls that have *words* anywhere, also where the CLI added them."""
        wanted = json.dumps(words, ensure_ascii=False)[1:-1].encode()
        with self._lock:
            return [seq for seq, body in self._bodies if wanted in body]

    def forget(self) -> None:
        """Begin anew, with the numbers too."""
        with self._lock:
            self._records.clear()
            self._bodies.clear()
            self._next_seq = 1


def _record(asked: Asked, seq: int) -> Record:
    call, prompt = asked.call, last_prompt(asked.call.history)
    return Record(
        seq=seq,
        at=time.time(),
        api=asked.api,
        path=asked.path,
        model=call.model,
        main=call.is_main,
        bytes=len(asked.body),
        turns=sum(entry.kind == "user" for entry in call.history),
        prompt=prompt[-PROMPT_TAIL_CHARS:],
        prompt_chars=len(prompt),
        prompt_sha256=hashlib.sha256(prompt.encode(errors="surrogatepass")).hexdigest(),
        tools=tuple(call.tools),
        step=asked.step,
        effort=call.effort,
        stream=call.is_streaming,
        user_agent=asked.user_agent,
    )
