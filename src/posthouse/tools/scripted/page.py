"""What has been said on the screen so far, in the persona's look."""

from posthouse.tools.scripted import cells
from posthouse.tools.scripted.appearance import Look
from posthouse.tools.scripted.painter import Painter

_OUTPUT_LINES = 5


class Page:
    """Finished lines go to the painter; the unfinished last line of an answer is the `tail`."""

    def __init__(self, painter: Painter, look: Look, *, banner: str) -> None:
        self._painter = painter
        self._look = look
        self._banner = banner
        self._is_answering = False
        self.tail = ""
        painter.add(banner)

    @property
    def columns(self) -> int:
        return self._painter.columns

    @property
    def rows(self) -> int:
        return self._painter.rows

    def restart(self, command: str) -> None:
        """An empty page, but for the command that asked for it."""
        self._painter.clear()
        self._painter.add(self._banner)
        self._painter.add(f"{self._look.past_marker}{command}\n")

    def prompt(self, text: str) -> None:
        """Show a prompt that was taken."""
        self._flush()
        look = self._look
        marked = look.past_marker + text.replace("\n", "\n" + " " * len(look.past_marker))
        if look.frames_past:
            above, below = look.rule_above * self.columns, look.rule_below * self.columns
            self._painter.add(f"{above}\n{marked}\n{below}")
        else:
            self._painter.add(f"{marked}\n")

    def say(self, text: str) -> None:
        """Go on with the answer."""
        begins = "" if self._is_answering else self._look.answer_marker
        self._is_answering = True
        whole = self.tail + begins + text.replace("\n", "\n  ")
        *finished, self.tail = cells.wrap_words(whole, self.columns)
        for row in finished:
            self._painter.add(row)

    def note(self, text: str) -> None:
        """A line of its own, between or below the lines of an answer."""
        self._flush()
        self._painter.add(text)

    def tool(self, command: str) -> None:
        """A tool is used."""
        self.note(f"{self._look.answer_marker}Bash({command})")

    def tool_output(self, output: str) -> None:
        """What a tool gave, as far as a person wants to see it at once."""
        lines = output.splitlines() or ["(no output)"]
        if len(lines) > _OUTPUT_LINES:
            lines = [*lines[:_OUTPUT_LINES], f"… +{len(lines) - _OUTPUT_LINES} lines"]
        indent = " " * len(self._look.result_marker)
        self.note(self._look.result_marker + f"\n{indent}".join(lines))

    def end(self, text: str = "", *, style: str = "") -> None:
        """The turn is over; *text* is its last line."""
        self._flush()
        self._is_answering = False
        if text:
            self._painter.add(text, style=style)

    def _flush(self) -> None:
        if self.tail:
            self._painter.add(self.tail)
            self.tail = ""
