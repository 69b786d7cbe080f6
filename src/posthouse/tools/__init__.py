"""What is particular to one agent CLI, one folder each.

`load` gives a tool (`tool.Tool`) by its name, `load_decoder` its event stream (`decoder.Decoder`);
each imports only what it gives. A folder has `profile.py` with `TOOL`, and `events.py`.
"""

import importlib
from typing import TYPE_CHECKING, cast

from posthouse.errors import InvalidInput

if TYPE_CHECKING:
    from types import ModuleType

    from posthouse.tools.decoder import Decoder
    from posthouse.tools.tool import Tool

#: Every tool that can be launched, in the order they are shown.
NAMES = ("claude", "codex", "gemini", "scripted")


class UnknownTool(InvalidInput):
    """No such agent CLI."""

    code = "unknown_tool"


def load(name: str) -> "Tool":
    """The tool called *name*.

    Raises:
        UnknownTool: There is none.
    """
    return cast("Tool", _module(name, "profile").TOOL)


def load_decoder(name: str) -> "Decoder":
    """The event stream of the tool called *name*.

    Raises:
        UnknownTool: There is none.
    """
    return cast("Decoder", _module(name, "events"))


def _module(name: str, part: str) -> "ModuleType":
    if name not in NAMES:
        raise UnknownTool(f"tool {name!r} is not known; there is {', '.join(NAMES)}")
    return importlib.import_module(f"posthouse.tools.{name}.{part}")
