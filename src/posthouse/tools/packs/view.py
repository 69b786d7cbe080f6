"""One screen interpreted with a pack: its title, page, composer and last turn."""

from functools import cached_property

from posthouse.terminal.screen import Screen, TitleWord
from posthouse.tools.packs import composers, turns
from posthouse.tools.packs.composers import ComposerMatch
from posthouse.tools.packs.pack import Pack
from posthouse.tools.packs.page import ScreenPage

_TITLES: tuple[TitleWord, ...] = ("asking", "active", "idle")
#: tmux writes it into a dead pane that it keeps.
_DEAD_ROW = "Pane is dead ("
#: Rows that may follow a program's exit text: a shell prompt, and a line of tmux.
_MAX_TRAILING_ROWS = 6


class ScreenView:
    """The screen, as the reader's parts see it. Attributes are computed lazily."""

    def __init__(self, pack: Pack, screen: Screen) -> None:
        self.pack = pack
        self._title_text = screen.title.strip()
        self.page = ScreenPage(screen)

    @cached_property
    def composer(self) -> ComposerMatch | None:
        return composers.find(self.page, self.pack.composer, is_working=self.title == "active")

    @cached_property
    def title(self) -> TitleWord | None:
        """The meaning of the title; None if it is not the tool's or has no meaning."""
        patterns = ((word, getattr(self.pack.title, word)) for word in _TITLES)
        return next((word for word, pattern in patterns if pattern and pattern.match(self._title_text)), None)

    @property
    def has_foreign_title(self) -> bool:
        """Whether the title is not the tool's: titles are disabled, or the program has just started."""
        return bool(self._title_text) and self.title is None and self.pack.title.idle is not None

    @cached_property
    def end(self) -> int:
        """The row after the conversation."""
        return self.composer.top if self.composer else len(self.page.rows)

    @cached_property
    def turn(self) -> int:
        """The row where the answer to the last prompt starts."""
        return turns.last_turn_row(self.page, self.pack.turn, end=self.end)

    @property
    def exit_text(self) -> str | None:
        """The program's exit text; None if anything else of the program is below it."""
        ending = self.pack.ending
        above = self.composer.end - 1 if self.composer else -1
        below = [row for row in range(len(self.page.rows) - 1, above, -1) if self.page.rows[row]]
        for row in below[:_MAX_TRAILING_ROWS]:
            text = self.page.rows[row]
            if text.startswith(_DEAD_ROW) or (ending and ending.row.match(text)):
                return text.strip()
        return None
