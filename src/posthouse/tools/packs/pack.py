"""A pack: the patterns that recognise one CLI's screens, decoded from its TOML file."""

import re
import threading
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from posthouse.errors import InvalidInput
from posthouse.support import untrusted_files
from posthouse.terminal.screen import ErrorKind, Outcome

Pattern = re.Pattern[str]
#: How to recognise a composer: between two rules; by a bold marker above a status line; by the cursor in it.
Shape = Literal["ruled", "status", "cursor"]
#: Where to search: below the composer, in the last turn, or in the turn's last row at the margin.
Region = Literal["footer", "turn", "edge"]


#: msgspec analyses a type on first use, and crashes if two threads do so at once.
_CONVERT_LOCK = threading.Lock()


class BadPack(InvalidInput):
    """A pack file is invalid; the message names the defect."""

    code = "bad_pack"


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a pack file. Unknown keys are errors, so that typos are found."""


class Title(_Table, frozen=True, kw_only=True):
    """What the terminal title means by itself. Patterns match at its start."""

    active: Pattern | None = None
    idle: Pattern | None = None
    asking: Pattern | None = None
    #: Whether an idle title alone means that no turn runs, whatever else is on the screen.
    is_enough: bool = False


class Composer(_Table, frozen=True, kw_only=True):
    """The input field for prompts."""

    shape: Shape
    #: The start of its first row.
    marker: Pattern
    #: How many leading characters of each row are not text.
    indent: int
    #: `ruled`: the rows above and below it.
    rule: Pattern | None = None
    #: The upper rule, if it looks different.
    rule_above: Pattern | None = None
    #: `status`: the row below it, which is missing until the session has started.
    status: Pattern | None = None
    #: Whether its marker is bold, unlike those of past prompts.
    is_bold: bool = False
    #: Modes in which Enter does not submit a prompt: the start of the first row, by name.
    modes: Mapping[str, Pattern] = {}
    #: Markers that are part of the typed text, such as the `!` of a shell command.
    spoken: str = ""
    #: A marker that, if coloured, means that a turn runs. Used only if the title has no meaning.
    busy_marker: str = ""
    #: `cursor`: rows above it before the program is ready.
    rows_before_up: int = 0
    #: `cursor`: the text after the marker of an empty composer.
    placeholder: Pattern | None = None
    #: `cursor`: how many columns at the right stay free; used to detect wrapped lines.
    margin: int = 0
    #: `cursor`: a row that never occurs below it, such as the upper edge of a dialog.
    never_below: Pattern | None = None


class NamedDialog(_Table, frozen=True, kw_only=True):
    """A dialog with a name."""

    name: str
    #: Searched in its text, joined to one line.
    words: Pattern
    #: Whether the title asks for user input while it is open; None: either.
    asking: bool | None = None
    #: How to select a choice: by its number, or with arrow keys.
    press: Literal["number", "arrows"] = "number"


class Dialog(_Table, frozen=True, kw_only=True):
    """A dialog, which replaces the composer and would swallow a prompt."""

    #: The row above it.
    top: Pattern | None = None
    #: Whether to use the lowest such row: boxes of the conversation may be above it.
    is_lowest: bool = False
    #: A row of the conversation: the dialog is below the last of them.
    outside: Pattern | None = None
    #: A choice: groups `cursor` (on the selected one only), `number`, `label`.
    choice: Pattern
    #: The marker of the selected choice.
    cursor: str = ""
    #: Words that only a dialog has, such as its cancel hint. A selected choice identifies a dialog too.
    sign: Pattern
    #: Characters around its rows, such as a box.
    frame: str = ""
    names: tuple[NamedDialog, ...] = ()
    #: A menu's heading with its `name`, used if none of `names` matches.
    heading: Pattern | None = None
    #: The name of any other.
    otherwise: str = "menu"
    #: The last row of a screen where a box replaces the composer.
    bottom: Pattern | None = None


class OutcomeMark(_Table, frozen=True, kw_only=True):
    """A row that shows how a turn ended."""

    row: Pattern
    #: `none`: it looks like a mark but has no meaning.
    outcome: Outcome
    kind: ErrorKind | None = None
    #: Whether only coloured words count, if the row has colours at all: the agent's own text has none.
    is_painted: bool = False
    #: Whether a mark above overrides it.
    is_weak: bool = False
    #: Whether it means that no turn runs; otherwise a success mark may occur during a turn.
    is_final: bool = False
    #: Whether to match the rows below too, up to an empty one, joined to one line.
    is_block: bool = False


class Turn(_Table, frozen=True, kw_only=True):
    """The conversation above the composer."""

    #: The first row of a turn, at the margin: a past prompt.
    begins: Pattern
    #: Whether its marker is dim, unlike the selected entry of a menu.
    is_dim: bool = False
    #: Past prompts that started no turn; the previous turn is still the last.
    local: Pattern | None = None
    #: Past prompts that clear the conversation: there is no last turn.
    resets: Pattern | None = None
    marks: tuple[OutcomeMark, ...] = ()
    #: A queued message, in the rows directly above the composer.
    queued: Pattern | None = None


class ScreenSign(_Table, frozen=True, kw_only=True):
    """Words that have a meaning on a screen with a composer."""

    words: Pattern
    region: Region
    state: Literal["active", "queued", "blocked", "limited"] | None = None
    #: For `blocked`.
    dialog: str | None = None
    #: Whether to report the words (or their group `detail`).
    is_detail: bool = False
    #: The evidence to display.
    evidence: str = ""
    is_painted: bool = False
    #: As in `OutcomeMark`.
    is_block: bool = False


class Diagnostic(_Table, frozen=True, kw_only=True):
    """Words of the last turn that mean a degraded conversation. Searched in one line."""

    words: Pattern
    error_type: str


class ExitPattern(_Table, frozen=True, kw_only=True):
    """What the program prints when it exits, below everything else."""

    row: Pattern


class Pack(_Table, frozen=True, kw_only=True):
    """The screens of one CLI and version range."""

    tool: str
    name: str
    #: The supported versions: `since` inclusive, `before` exclusive.
    since: str
    before: str
    #: The version of its captures.
    recorded: str
    title: Title = Title()
    composer: Composer
    dialog: Dialog
    turn: Turn
    signs: tuple[ScreenSign, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    ending: ExitPattern | None = None
    #: A row displayed while the program starts.
    banner: Pattern | None = None

    @property
    def label(self) -> str:
        return f"{self.tool} {self.name}"


def load(path: Path) -> Pack:
    """The pack in the file *path*.

    Raises:
        BadPack: The file is invalid; the message names it.
    """
    try:
        return parse(untrusted_files.read_text(path, follow=True))
    except (OSError, UnicodeDecodeError, BadPack) as error:
        raise BadPack(f"{path.name}: {error}") from error


def parse(text: str) -> Pack:
    """The pack in *text*.

    Raises:
        BadPack: The text is not a valid pack.
    """
    try:
        with _CONVERT_LOCK:
            return msgspec.convert(tomllib.loads(text), Pack, dec_hook=_decode_pattern)
    except RecursionError:
        raise BadPack("it is nested too deeply") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadPack(str(error)) from error


def _decode_pattern(wanted: type, value: Any) -> Any:
    if getattr(wanted, "__origin__", wanted) is not re.Pattern or not isinstance(value, str):
        raise NotImplementedError(wanted)
    try:
        return re.compile(value)
    except re.error as error:
        raise ValueError(f"invalid pattern {value!r}: {error}") from error
