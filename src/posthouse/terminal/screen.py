"""A capture of a pane, and its interpretation: can a prompt be typed?"""

import re
from dataclasses import dataclass
from typing import Literal

_SGR = re.compile(r"\x1b\[([0-9;:]{0,99})m")
#: Colours and attributes, hyperlinks, line-drawing shifts: all escapes in a tmux capture, and those of other
#: programs.
ESCAPE = re.compile(
    r"\x1b\[([0-9;:]{0,99})m|\x1b\[[0-9;:?]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x0e\x0f\r]"
)
#: First numbers of the sequences that set the foreground, background and underline colour, with the
#: number that resets it.
_COLOURS = {
    frozenset({*range(30, 40), *range(90, 98)}): 39,
    frozenset({*range(40, 50), *range(100, 108)}): 49,
    frozenset({58, 59}): 59,
}

#: `draft` is ready with text in the composer, `queued` active with input that waits, `limited` out of budget.
SurfaceState = Literal[
    "starting", "ready", "draft", "active", "queued", "blocked", "limited", "exited", "unknown"
]
#: How the last turn ended, as far as the screen shows. `none` while one runs.
Outcome = Literal["none", "success", "interrupted", "error"]
ErrorKind = Literal["api_error", "context_full", "overloaded"]
ChatContext = Literal["current", "degraded", "unknown"]
#: The state in the terminal's title.
TitleWord = Literal["idle", "active", "asking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One capture of a pane: rows with their SGR escapes, and pane properties."""

    rows: tuple[str, ...]
    title: str
    #: Column and row, from 0; None: unknown.
    cursor: tuple[int, int] | None
    dead: bool = False
    #: The pane is in copy mode: tmux would consume the Enter.
    in_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer that a dialog offers."""

    #: As shown; None if the dialog does not number its entries.
    number: int | None
    label: str
    is_selected: bool = False
    #: The keys that select it, in tmux's names; empty if unknown.
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDiagnostic:
    """Why the conversation's context is unreliable."""

    error_type: str
    #: The beginning of the CLI's own message.
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The interpretation of a tool's screen."""

    state: SurfaceState
    #: Recognised signs; the first decided the state.
    evidence: tuple[str, ...]
    #: The text in the composer; "" when it is empty, None when there is no composer.
    composer: str | None = None
    #: The open dialog, which would consume a prompt.
    dialog: str | None = None
    choices: tuple[Choice, ...] = ()
    outcome: Outcome = "none"
    #: None unless the outcome is `error`.
    error_kind: ErrorKind | None = None
    #: The CLI's own message about it, on one line: a retry, a limit.
    detail: str = ""
    #: When a usage limit ends, as shown by the CLI ("3pm (UTC)"); None if not shown.
    resets: str | None = None
    chat_context: ChatContext = "unknown"
    chat_diagnostic: ChatDiagnostic | None = None
    #: None: the title is not one of the tool's.
    title: TitleWord | None = None
    #: The pack that read the screen, for example `claude 2.1`; "" if none.
    pack: str = ""

    @property
    def is_working(self) -> bool:
        """Whether a turn runs and does not wait for a person."""
        return self.state in ("active", "queued")


def rows_of(capture: str) -> tuple[str, ...]:
    """The rows of a `capture-pane -e`, each self-contained.

    tmux writes an attribute once and it stays in force in the rows below; here every row repeats
    the attributes in force at its beginning.
    """
    rows: list[str] = []
    in_force: dict[str, str] = {}
    for row in capture.split("\n"):
        rows.append("".join(in_force.values()) + row)
        for match in _SGR.finditer(row):
            _apply(in_force, match)
    return tuple(rows)


def plain(row: str) -> str:
    """*row* without its escapes."""
    return ESCAPE.sub("", row)


def _apply(in_force: dict[str, str], sequence: re.Match[str]) -> None:
    """Update *in_force*. tmux writes one sequence for all attributes and one for each colour."""
    first = int(re.split("[;:]", sequence[1])[0] or 0)
    if first == 0:
        in_force.clear()
    for colour, default in _COLOURS.items():
        if first in colour:
            in_force[str(default)] = sequence[0]
            if first == default:
                del in_force[str(default)]
            return
    if sequence[1] not in ("", "0"):
        # Deduplicated: some programs repeat it for every character.
        before = in_force.get("attributes", "").replace(sequence[0], "")
        in_force["attributes"] = before + sequence[0]
