"""What a capture of Codex's TUI means: its packs, read by the engine."""

from posthouse.terminal.screen import Screen, Surface
from posthouse.tools import packs


def read(screen: Screen, version: str | None = None) -> Surface:
    """The state of the TUI, with what it was seen by. *version* is the CLI's own, where it is known."""
    return packs.read(packs.pack_for("codex", version).pack, screen)
