"""The conversation on the screen, in the persona's appearance."""

from posthouse.tools.scripted import cells
from posthouse.tools.scripted.appearance import Appearance
from posthouse.tools.scripted.painter import Painter

_OUTPUT_LINES = 5


class Page:
    """Passes finished lines to the painter; `tail` is the unfinished last line of an answer."""

    def __init__(self, painter: Painter, appearance: Appearance, *, banner: str) -> None:
        self._painter = painter
        self._appearance = appearance
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
        """Clear the page, except for the banner and the *command* that requested it."""
        self._painter.clear()
        self._painter.add(self._banner)
        self._painter.add(f"{self._appearance.past_marker}{command}\n")

    def prompt(self, text: str) -> None:
        """Show a submitted prompt."""
        self._flush()
        appearance = self._appearance
        marked = appearance.past_marker + text.replace("\n", "\n" + " " * len(appearance.past_marker))
        if appearance.frames_past:
            above, below = appearance.rule_above * self.columns, appearance.rule_below * self.columns
            self._painter.add(f"{above}\n{marked}\n{below}")
        else:
            self._painter.add(f"{marked}\n")

    def say(self, text: str) -> None:
        """Append to the answer."""
        begins = "" if self._is_answering else self._appearance.answer_marker
        self._is_answering = True
        whole = self.tail + begins + text.replace("\n", "\n  ")
        *finished, self.tail = cells.wrap_words(whole, self.columns)
        for row in finished:
            self._painter.add(row)

    def note(self, text: str) -> None:
        """Add a separate line, between or below the lines of an answer."""
        self._flush()
        self._painter.add(text)

    def tool(self, command: str) -> None:
        """Show a tool call."""
        self.note(f"{self._appearance.answer_marker}Bash({command})")

    def tool_output(self, output: str) -> None:
        """Show the first lines of a tool's output."""
        lines = output.splitlines() or ["(no output)"]
        if len(lines) > _OUTPUT_LINES:
            lines = [*lines[:_OUTPUT_LINES], f"… +{len(lines) - _OUTPUT_LINES} lines"]
        indent = " " * len(self._appearance.result_marker)
        self.note(self._appearance.result_marker + f"\n{indent}".join(lines))

    def end(self, text: str = "", *, style: str = "") -> None:
        """End the turn; *text* is its last line."""
        self._flush()
        self._is_answering = False
        if text:
            self._painter.add(text, style=style)

    def _flush(self) -> None:
        if self.tail:
            self._painter.add(self.tail)
            self.tail = ""
