"""The sender's notice for the wake-up prompt: the block, its proof, and its fence in the body."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from posthouse.contracts import names

Placement = Literal["append", "prepend"]
Scheme = Literal["none", "shared-token", "hmac-sha256", "jws"]
SCHEMES: tuple[str, ...] = get_args(Scheme)
PLACEMENTS: tuple[str, ...] = get_args(Placement)
MAX_CHARS = 512
_OPENING = f"```{names.NOTIFY_FENCE}"
_CLOSING = "```"
_LINE_ENDS = re.compile(r"\r?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyBlock:
    """The sender's text for the wake-up prompt."""

    text: str
    placement: Placement = "append"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyAuth:
    """The sender's proof that its notice may be shown."""

    scheme: Scheme = "none"
    token: str | None = None
    iss: str | None = None
    iat: str | None = None
    exp: str | None = None


def shortened(text: str) -> str:
    """*text*, truncated to 512 characters with an ellipsis."""
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"


def extract(body: str) -> NotifyBlock | None:
    """The first notify fence of *body* as a block; None when it is missing, unclosed or blank."""
    lines = _LINE_ENDS.split(body)
    start = _opening_at(lines)
    if start is None:
        return None
    for index in range(start + 1, len(lines)):
        if lines[index] == _CLOSING:
            text = "\n".join(lines[start + 1 : index]).strip()
            return NotifyBlock(text=shortened(text)) if text else None
    return None


def mirrored(body: str, block: NotifyBlock) -> str:
    """*body* with *block* in a fence before or after it, unless it has a fence already."""
    if _opening_at(_LINE_ENDS.split(body)) is not None:
        return body
    fence = f"{_OPENING}\n{block.text}\n{_CLOSING}"
    if not body:
        return fence
    return f"{fence}\n\n{body}" if block.placement == "prepend" else f"{body.rstrip(chr(10))}\n\n{fence}"


def _opening_at(lines: list[str]) -> int | None:
    for index, line in enumerate(lines):
        if line.startswith(_CLOSING) and line[3:].strip() == names.NOTIFY_FENCE:
            return index
    return None
