"""A pack as a value: the patterns by which one CLI's screens are read, decoded from its TOML file."""

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
#: How a composer is recognised: between two rules; by a bold marker above a status line; by the cursor in it.
Shape = Literal["ruled", "status", "cursor"]
#: Where words stand: below the composer, in the last turn, or in the turn's last row at the margin.
Region = Literal["footer", "turn", "edge"]


#: msgspec works a type out when it is first used, and crashes when two threads do that at once.
_CONVERTING = threading.Lock()


class BadPack(InvalidInput):
    """A pack's file can't be used; the message says what is wrong in it."""

    code = "bad_pack"


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a pack's file. It refuses keys that it does not know: a mistyped one must not be silence."""


class Title(_Part, frozen=True, kw_only=True):
    """What the terminal's title says by itself. Patterns are tried at its beginning."""

    active: Pattern | None = None
    idle: Pattern | None = None
    asking: Pattern | None = None
    #: Whether an idle title is enough to say that no turn runs, whatever else is painted.
    is_enough: bool = False


class Composer(_Part, frozen=True, kw_only=True):
    """Where a prompt is typed."""

    shape: Shape
    #: The beginning of its first row.
    marker: Pattern
    #: How many characters of each row are not text.
    indent: int
    #: `ruled`: the rows above and below it.
    rule: Pattern | None = None
    #: Where the upper one looks different.
    rule_above: Pattern | None = None
    #: `status`: the row below it, which is missing while no session stands behind the first picture.
    status: Pattern | None = None
    #: Whether its marker is bold, which tells it from past prompts.
    is_bold: bool = False
    #: Beginnings of its first row in which a prompt would do something else, by the word for it.
    modes: Mapping[str, Pattern] = {}
    #: Markers that are a part of what is typed, such as the `!` of a shell command.
    spoken: str = ""
    #: Whether a coloured marker says that a turn runs. It counts only where the title says nothing.
    busy_marker: str = ""
    #: `cursor`: rows that are painted above it before the program behind it is up.
    rows_before_up: int = 0
    #: `cursor`: what stands behind the marker while the composer is empty.
    placeholder: Pattern | None = None
    #: `cursor`: how many columns at the right stay free, by which a broken line is known.
    margin: int = 0
    #: `cursor`: a row that never stands below it, such as the upper edge of a dialog.
    never_below: Pattern | None = None


class Named(_Part, frozen=True, kw_only=True):
    """A dialog with a name of its own."""

    name: str
    #: Searched in its text, on one line.
    words: Pattern
    #: Whether the title asks for a person while it is open; None: either may be.
    asking: bool | None = None
    #: How a choice is pressed: by its number, or by moving to it.
    press: Literal["number", "arrows"] = "number"


class Dialog(_Part, frozen=True, kw_only=True):
    """What would eat a prompt: it takes the composer's place."""

    #: The row above it.
    top: Pattern | None = None
    #: Whether that is the lowest such row: boxes of the conversation stand above it.
    is_lowest: bool = False
    #: A row of the conversation: the dialog is below the last of them.
    outside: Pattern | None = None
    #: An entry: groups `cursor` (painted only on the selected one), `number`, `label`.
    choice: Pattern
    #: What is painted beside the selected entry.
    cursor: str = ""
    #: Words that only a dialog has, such as the way out of it; a selected choice says the same.
    sign: Pattern
    #: What stands around its rows, such as a box.
    frame: str = ""
    names: tuple[Named, ...] = ()
    #: A row over a menu that says its `name`, where the names above say nothing.
    heading: Pattern | None = None
    #: The name of any other.
    otherwise: str = "menu"
    #: The row that ends a screen without a composer when a box stands in its place.
    bottom: Pattern | None = None


class Mark(_Part, frozen=True, kw_only=True):
    """A row that tells how a turn ended."""

    row: Pattern
    #: `none`: it looks like a mark and says nothing.
    outcome: Outcome
    kind: ErrorKind | None = None
    #: Whether only painted words count, where the row has colours at all: an agent's own words have none.
    is_painted: bool = False
    #: Whether a row above may know better.
    is_weak: bool = False
    #: Whether no turn runs once it is painted; only success may be said in the middle of one.
    is_final: bool = False
    #: Whether the rows below, up to an empty one, are looked at with it, on one line.
    is_block: bool = False


class Turn(_Part, frozen=True, kw_only=True):
    """The conversation above the composer."""

    #: The row with which a turn begins, at the margin: a past prompt.
    begins: Pattern
    #: Whether its marker is dim, which tells it from the selected entry of a menu.
    is_dim: bool = False
    #: Past prompts that began no turn, and after which an older turn is still the last.
    local: Pattern | None = None
    #: Past prompts after which there is no last turn.
    resets: Pattern | None = None
    marks: tuple[Mark, ...] = ()
    #: A message that waits, in the rows right above the composer.
    queued: Pattern | None = None


class Sign(_Part, frozen=True, kw_only=True):
    """Words that mean something wherever a composer stands."""

    words: Pattern
    region: Region
    state: Literal["active", "queued", "blocked", "limited"] | None = None
    #: For `blocked`.
    dialog: str | None = None
    #: Whether the words (or their group `detail`) are told.
    is_detail: bool = False
    #: What was seen, for a person.
    evidence: str = ""
    is_painted: bool = False
    #: As a mark's.
    is_block: bool = False


class Diagnostic(_Part, frozen=True, kw_only=True):
    """Words of the last turn after which the conversation can't be relied on. It is searched on one line."""

    words: Pattern
    error_type: str


class Ending(_Part, frozen=True, kw_only=True):
    """What a program leaves on the screen when it ends, below everything else."""

    row: Pattern


class Pack(_Part, frozen=True, kw_only=True):
    """All that is known of one CLI's screens."""

    tool: str
    name: str
    #: The versions it is for, from this one on and before that one.
    since: str
    before: str
    #: The version of which its captures are.
    recorded: str
    title: Title = Title()
    composer: Composer
    dialog: Dialog
    turn: Turn
    signs: tuple[Sign, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    ending: Ending | None = None
    #: What is painted while the program starts.
    banner: Pattern | None = None

    @property
    def label(self) -> str:
        return f"{self.tool} {self.name}"


def load(path: Path) -> Pack:
    """The pack in the file *path*.

    Raises:
        BadPack: It is no pack; the message says where.
    """
    try:
        return parse(untrusted_files.read_text(path, follow=True))
    except (OSError, UnicodeDecodeError, BadPack) as error:
        raise BadPack(f"{path.name}: {error}") from error


def parse(text: str) -> Pack:
    """The pack that *text* holds.

    Raises:
        BadPack: It holds none.
    """
    try:
        with _CONVERTING:
            return msgspec.convert(tomllib.loads(text), Pack, dec_hook=_decoded)
    except RecursionError:
        raise BadPack("it is nested too deeply") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadPack(str(error)) from error


def _decoded(wanted: type, value: Any) -> Any:
    if getattr(wanted, "__origin__", wanted) is not re.Pattern or not isinstance(value, str):
        raise NotImplementedError(wanted)
    try:
        return re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is no pattern: {error}") from error
