"""One screen beside the pack that reads it: its title, its page, its composer, its last turn."""

from functools import cached_property

from posthouse.terminal.screen import Screen, TitleWord
from posthouse.tools.packs import composers, turns
from posthouse.tools.packs.composers import Found
from posthouse.tools.packs.pack import Pack
from posthouse.tools.packs.page import Page

_TITLES: tuple[TitleWord, ...] = ("asking", "active", "idle")
#: tmux says it in a pane that it keeps.
_DEAD_ROW = "Pane is dead ("
#: So much may stand below a program's last words: a shell's prompt, and a line of tmux.
_MAX_ROWS_BELOW = 6


class View:
    """What every part of the reading looks at."""

    def __init__(self, pack: Pack, screen: Screen) -> None:
        self.pack = pack
        self._title_text = screen.title.strip()
        self.page = Page(screen)

    @cached_property
    def composer(self) -> Found | None:
        return composers.find(self.page, self.pack.composer, is_working=self.title == "active")

    @cached_property
    def title(self) -> TitleWord | None:
        """What the title says; None when it is not the tool's, or says nothing."""
        patterns = ((word, getattr(self.pack.title, word)) for word in _TITLES)
        return next((word for word, pattern in patterns if pattern and pattern.match(self._title_text)), None)

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else set the title: titles are turned off, or the program has just begun."""
        return bool(self._title_text) and self.title is None and self.pack.title.idle is not None

    @cached_property
    def end(self) -> int:
        """The row in which the conversation ends."""
        return self.composer.top if self.composer else len(self.page.rows)

    @cached_property
    def turn(self) -> int:
        """The row in which the answer to the last prompt begins."""
        return turns.last_turn_row(self.page, self.pack.turn, end=self.end)

    @property
    def last_words(self) -> str | None:
        """What the program said when it ended; None while something of it is painted below."""
        ending = self.pack.ending
        above = self.composer.end - 1 if self.composer else -1
        below = [row for row in range(len(self.page.rows) - 1, above, -1) if self.page.rows[row]]
        for row in below[:_MAX_ROWS_BELOW]:
            text = self.page.rows[row]
            if text.startswith(_DEAD_ROW) or (ending and ending.row.match(text)):
                return text.strip()
        return None
