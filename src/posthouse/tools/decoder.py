"""Protocol of a headless event stream decoder. Standard library only: the bridge uses it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from posthouse.contracts.events import DecodedRecord, Provider


class Decoder(Protocol):
    """Decodes one provider's stream. A tool's `events` module implements it."""

    @property
    def PROVIDER(self) -> Provider:
        """The provider whose format the stream has."""

    def decode(self, record: Mapping[str, Any]) -> Sequence[DecodedRecord]:
        """The canonical events of one JSON object of the stream. Pure."""

    def session_id(self, record: Mapping[str, Any]) -> str | None:
        """The provider's conversation id, if *record* has one."""
