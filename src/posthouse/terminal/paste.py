"""Makes text safe to paste: nothing in it can end the paste or press a key."""

import re
import unicodedata

from posthouse.errors import InvalidInput

MAX_BYTES = 1024 * 1024

_PLACEHOLDER = re.compile(r"\[Pasted\b", re.IGNORECASE)
#: Length of the beginning and end that identify a text and still fit in a composer.
_MATCH_CHARACTERS = 24


def pasteable(text: str) -> str:
    """*text* with its control characters made visible (`␛` for Escape), tabs and newlines kept.

    Inside a bracketed paste an Escape could end the paste, and what follows would be keys.

    Raises:
        InvalidInput: It is blank, or longer than `MAX_BYTES` (`prompt_too_long`).
    """
    if not text.strip():
        raise InvalidInput("the prompt is blank; nothing to submit")
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        message = "the prompt is longer than 1 MB; put it in a file and name the file"
        raise InvalidInput(message, code="prompt_too_long")
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROL_PICTURES)


def shows(composer: str, text: str) -> bool:
    """Whether *composer* shows the pasted *text*: its beginning, its end or a placeholder for it.

    CLIs wrap, normalise and clip the text, so spaces are ignored and either end is sufficient.
    """
    if _PLACEHOLDER.search(composer):
        return True
    seen, wanted = _without_spaces(composer), _without_spaces(text)
    return bool(wanted) and (wanted[:_MATCH_CHARACTERS] in seen or wanted[-_MATCH_CHARACTERS:] in seen)


def _without_spaces(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).split())


_CONTROL_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
