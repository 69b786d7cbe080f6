"""What a pane shows at one moment, and what that means for somebody who wants to type."""

import re
from dataclasses import dataclass
from typing import Literal

_SGR = re.compile(r"\x1b\[([0-9;:]{0,99})m")
#: Colours and attributes, hyperlinks, line-drawing shifts: all that tmux puts into a capture. Other programs
#: put in more; none of it is text.
ESCAPE = re.compile(
    r"\x1b\[([0-9;:]{0,99})m|\x1b\[[0-9;:?]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x0e\x0f\r]"
)
#: First numbers of the sequences that set the foreground, background and underline colour, by the
#: number that takes it back.
_COLOURS = {
    frozenset({*range(30, 40), *range(90, 98)}): 39,
    frozenset({*range(40, 50), *range(100, 108)}): 49,
    frozenset({58, 59}): 59,
}

#: `draft` is ready with text in the composer, `queued` active with input that waits, `limited` out of budget.
SurfaceState = Literal[
    "starting", "ready", "draft", "active", "queued", "blocked", "limited", "exited", "unknown"
]
#: How the last turn ended, as far as the screen tells. `none` while one runs.
Outcome = Literal["none", "success", "interrupted", "error"]
ErrorKind = Literal["api_error", "context_full", "overloaded"]
ChatContext = Literal["current", "degraded", "unknown"]
#: What the terminal's title says by itself.
TitleWord = Literal["idle", "active", "asking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One capture of a pane: rows with their SGR escapes, and what tmux knows beside them."""

    rows: tuple[str, ...]
    title: str
    #: Column and row, from 0; None: nobody told.
    cursor: tuple[int, int] | None
    dead: bool = False
    #: A person scrolls in copy mode: tmux would eat the Enter.
    in_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer that a dialog offers."""

    #: As it is painted; None where the dialog does not number its entries.
    number: int | None
    label: str
    is_selected: bool = False
    #: What to press for it, in tmux's names; empty when that can't be told.
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDiagnostic:
    """Why a conversation can't be relied on any more."""

    error_type: str
    #: The beginning of the CLI's own message.
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a tool's screen says."""

    state: SurfaceState
    #: What was seen; the first decided the state.
    evidence: tuple[str, ...]
    #: The text standing in the composer; "" when it is empty, None when there is no composer.
    composer: str | None = None
    #: Which dialog would eat a prompt.
    dialog: str | None = None
    choices: tuple[Choice, ...] = ()
    outcome: Outcome = "none"
    #: None unless the outcome is `error`.
    error_kind: ErrorKind | None = None
    #: The CLI's own words about it, on one line: a retry, a limit.
    detail: str = ""
    #: When a usage limit ends, in the CLI's own words ("3pm (UTC)"); None when it does not say.
    resets: str | None = None
    chat_context: ChatContext = "unknown"
    chat_diagnostic: ChatDiagnostic | None = None
    #: None: no title of the tool's own.
    title: TitleWord | None = None
    #: Which pack read the screen, for example `claude 2.1`; "" where none did.
    pack: str = ""

    @property
    def is_working(self) -> bool:
        """Whether a turn runs that asks nobody."""
        return self.state in ("active", "queued")


def rows_of(capture: str) -> tuple[str, ...]:
    """The rows of a `capture-pane -e`, each complete in itself.

    tmux writes an attribute once and lets it run on into the rows below; here every row repeats
    what is in force where it begins.
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
    """Note *sequence*. tmux writes one for all attributes and one for each colour."""
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
        # Once is enough: some programs say it for every character.
        before = in_force.get("attributes", "").replace(sequence[0], "")
        in_force["attributes"] = before + sequence[0]
