"""Adapters for agent CLIs, one folder each.

`load` returns a tool (`tool.Tool`) by name, `load_decoder` its event stream decoder (`decoder.Decoder`).
Each imports only the module it returns. A folder has `profile.py` with `TOOL`, and `events.py`.
"""

import importlib
from typing import TYPE_CHECKING, cast

from posthouse.errors import InvalidInput

if TYPE_CHECKING:
    from types import ModuleType

    from posthouse.tools.decoder import Decoder
    from posthouse.tools.tool import Tool

#: Every tool that can be launched, in display order.
NAMES = ("claude", "codex", "gemini", "scripted")


def load(name: str) -> "Tool":
    """The tool called *name*.

    Raises:
        InvalidInput: Unknown tool.
    """
    return cast("Tool", _module(name, "profile").TOOL)


def load_decoder(name: str) -> "Decoder":
    """The event stream decoder of the tool called *name*.

    Raises:
        InvalidInput: Unknown tool.
    """
    return cast("Decoder", _module(name, "events"))


def _module(name: str, part: str) -> "ModuleType":
    if name not in NAMES:
        raise InvalidInput(f"unknown tool {name!r}: expected one of {', '.join(NAMES)}", code="unknown_tool")
    return importlib.import_module(f"posthouse.tools.{name}.{part}")
