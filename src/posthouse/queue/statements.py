"""The statements of `queue.sql`, by name."""

import re
from functools import cache
from pathlib import Path

_MARK = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def named() -> dict[str, str]:
    """Every statement of the file, cached."""
    text = (Path(__file__).parent / "queue.sql").read_text(encoding="utf-8")
    parts = _MARK.split(text)[1:]
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}
