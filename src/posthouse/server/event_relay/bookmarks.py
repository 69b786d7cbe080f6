"""How far each gateway was heard: kept in a file, and found again in the journal after a kill."""

from pathlib import Path

import msgspec

from posthouse.contracts import strict
from posthouse.contracts.strict import Count
from posthouse.events.history import Past
from posthouse.events.journal import Journal
from posthouse.support import files, untrusted_files

#: The field of a line of the journal that says which event of a gateway it tells.
HEARD_AS = "gateway_event_id"


class Kept(strict.Strict, frozen=True, kw_only=True):
    """The file."""

    schema_version: int = 1
    #: The journal's last line when it was written; the lines behind it know better.
    journal_number: Count
    #: The last event that was heard, by agent.
    heard: dict[str, str]


class Bookmarks:
    """The last event that was heard of each gateway. Saved now and then: the journal has the rest."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self._path = path
        self._journal = journal
        self._heard: dict[str, str] = {}
        self._is_saved = True

    def get(self, agent_id: str) -> str | None:
        return self._heard.get(agent_id)

    def put(self, agent_id: str, event_id: str) -> None:
        self._heard[agent_id] = event_id
        self._is_saved = False

    def load(self) -> bool:
        """Know what was heard before. False: the journal lost lines that had been written. Reads files."""
        kept = self._read()
        number = 0 if kept is None else kept.journal_number
        self._heard = {} if kept is None else dict(kept.heard)
        with Past(self._journal.path, after=number) as past:
            while events := past.next():
                for event in events:
                    agent_id, event_id = event.fields.get("agent_id"), event.fields.get(HEARD_AS)
                    if isinstance(agent_id, str) and isinstance(event_id, str):
                        self._heard[agent_id] = event_id
        return number <= self._journal.last_number

    def save(self) -> None:
        """Write the file, if there is something new. Writes files.

        Raises:
            OSError: The disk refused; the journal still has it all.
        """
        if self._is_saved:
            return
        self._is_saved = True
        # The number first: whatever is heard meanwhile is then found behind it.
        number = self._journal.last_number
        kept = Kept(journal_number=number, heard=dict(self._heard))
        try:
            files.write_whole(self._path, msgspec.json.encode(kept), durable=False)
        except OSError:
            self._is_saved = False
            raise

    def _read(self) -> Kept | None:
        try:
            return strict.decode(untrusted_files.read_bytes(self._path), Kept)
        except (OSError, ValueError):
            return None  # the journal is read from its beginning instead
