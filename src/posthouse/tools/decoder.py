"""The contract of a headless event stream, standard library only: the bridge decodes with it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from posthouse.contracts.events import Decoded, Provider


class Decoder(Protocol):
    """Reads one provider's stream. A tool's `events` module is one."""

    @property
    def PROVIDER(self) -> Provider:
        """Whose words the stream speaks."""

    def decode(self, record: Mapping[str, Any]) -> Sequence[Decoded]:
        """What one JSON object of the stream means. Pure."""

    def session_id(self, record: Mapping[str, Any]) -> str | None:
        """The provider's conversation id, where *record* tells it."""
