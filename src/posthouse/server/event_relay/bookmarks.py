"""The position in each gateway's event stream: saved in a file, recovered from the journal after a kill."""

from pathlib import Path

import msgspec

from posthouse.contracts import strict
from posthouse.contracts.strict import Count
from posthouse.events.history import HistoryReader
from posthouse.events.journal import Journal
from posthouse.support import files, untrusted_files

#: The journal field with the id of the relayed event at its gateway.
SOURCE_ID = "gateway_event_id"


class Saved(strict.Strict, frozen=True, kw_only=True):
    """Content of the positions file."""

    schema_version: int = 1
    #: The journal's last line at the time of writing; later lines override `heard`.
    journal_number: Count
    #: The last relayed event, by agent.
    heard: dict[str, str]


class Positions:
    """The last relayed event of each gateway. Saved periodically; the journal has what came after."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self._path = path
        self._journal = journal
        self._last_events: dict[str, str] = {}
        self._is_saved = True

    def get(self, agent_id: str) -> str | None:
        return self._last_events.get(agent_id)

    def put(self, agent_id: str, event_id: str) -> None:
        self._last_events[agent_id] = event_id
        self._is_saved = False

    def load(self) -> bool:
        """Restore the positions. False: the journal lost lines that had been written. Reads files."""
        saved = self._read()
        number = 0 if saved is None else saved.journal_number
        self._last_events = {} if saved is None else dict(saved.heard)
        with HistoryReader(self._journal.path, after=number) as past:
            while events := past.next():
                for event in events:
                    agent_id, event_id = event.fields.get("agent_id"), event.fields.get(SOURCE_ID)
                    if isinstance(agent_id, str) and isinstance(event_id, str):
                        self._last_events[agent_id] = event_id
        return number <= self._journal.last_number

    def save(self) -> None:
        """Write the file if a position changed.

        Raises:
            OSError: The disk refused; the journal still has all positions.
        """
        if self._is_saved:
            return
        self._is_saved = True
        # Read the number first: events relayed meanwhile are then found after it.
        number = self._journal.last_number
        saved = Saved(journal_number=number, heard=dict(self._last_events))
        try:
            files.write_whole(self._path, msgspec.json.encode(saved), durable=False)
        except OSError:
            self._is_saved = False
            raise

    def _read(self) -> Saved | None:
        try:
            return strict.decode(untrusted_files.read_bytes(self._path), Saved)
        except (OSError, ValueError):
            return None  # the whole journal is read instead
