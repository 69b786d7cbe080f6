"""Text as it may be pasted: nothing in it can end the paste or press a key."""

import re
import unicodedata

from posthouse.errors import InvalidInput

MAX_BYTES = 1024 * 1024

_PLACEHOLDER = re.compile(r"\[Pasted\b", re.IGNORECASE)
#: Enough of a text to know it by, few enough to stand in one composer.
_KNOWN_BY = 24


class PromptTooLong(InvalidInput):
    """More than a composer takes; nothing was typed."""

    code = "prompt_too_long"


def pasteable(text: str) -> str:
    """*text* with its control characters made visible (`␛` for Escape), tabs and newlines kept.

    Inside a bracketed paste an Escape could end the paste, and what follows would be keys.

    Raises:
        InvalidInput: It is blank.
        PromptTooLong: It has more than `MAX_BYTES`.
    """
    if not text.strip():
        raise InvalidInput("the prompt is blank; nothing to submit")
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise PromptTooLong("the prompt is longer than 1 MB; put it in a file and name the file")
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_PICTURES)


def shows(composer: str, text: str) -> bool:
    """Whether *composer* holds the pasted *text*: its beginning, its end or a stand-in for it.

    CLIs wrap, normalise and clip what they show, so spaces do not count and either end will do.
    """
    if _PLACEHOLDER.search(composer):
        return True
    seen, wanted = _bare(composer), _bare(text)
    return bool(wanted) and (wanted[:_KNOWN_BY] in seen or wanted[-_KNOWN_BY:] in seen)


def _bare(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).split())


_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
