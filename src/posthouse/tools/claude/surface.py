"""Reads captures of Claude Code's TUI with its packs."""

from posthouse.terminal.screen import Screen, Surface
from posthouse.tools import packs


def read(screen: Screen, version: str | None = None) -> Surface:
    """The state of the TUI, with its evidence. *version* is the CLI's version, if known."""
    return packs.read(packs.pack_for("claude", version).pack, screen)
