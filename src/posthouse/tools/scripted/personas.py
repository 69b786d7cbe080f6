"""How each real CLI behaves at its worst, as measured. Data only.

A persona is named `claude`, `codex`, `gemini` or `plain`, with what goes wrong beside it:
`gemini+lagging`, `claude+no-hooks+no-transcript`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from posthouse.tools.scripted import appearance
from posthouse.tools.scripted.appearance import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """One way to behave. The defaults are those of a CLI that does nobody harm."""

    name: str
    look: Look
    #: After a paste or a burst of typed text, Enter is lost for so long, …
    enter_lost_seconds: float = 0.0
    #: … or, after typed text only, is taken for a newline.
    enter_breaks_line_seconds: float = 0.0
    #: A prompt that ends in a backslash: Enter makes a newline of it.
    backslash_breaks_line: bool = False
    #: What starts with `!` is run by a shell.
    bang: Literal["prompt", "shell", "shell even after spaces"] = "prompt"
    unknown_command: Literal["lost", "stays", "prompt"] = "lost"
    #: Enter during a turn: wait for its end, or join it.
    busy_enter: Literal["queue", "steer"] = "queue"
    #: Escape before anything was answered: the prompt comes back as a draft, and nothing says so.
    interrupt_withdraws: bool = False
    asks_for_trust: bool = False
    #: The composer is painted so long before anything is taken.
    splash_seconds: float = 0.0
    alternate_screen: bool = False
    #: One Ctrl-C on an empty composer ends the program.
    one_ctrl_c_exits: bool = False
    #: A second Escape on an empty composer brings the last prompt back.
    escape_twice_edits: bool = False
    strips_leading_space: bool = False
    composes_unicode: bool = False
    drops_zero_width: bool = False
    tab_spaces: int | None = None
    #: A paste of more lines is shown as `collapsed`.
    collapse_lines: int = 10
    collapsed: str = "[Pasted text #{number} +{lines} lines]"
    has_hooks: bool = True
    has_transcript: bool = True
    #: Hooks fire and the transcript is written so long after the fact.
    lag_seconds: float = 0.0


_PLAIN: Final = Persona(name="plain", look=appearance.PLAIN)

_CLAUDE: Final = Persona(
    name="claude",
    look=appearance.PLAIN,
    backslash_breaks_line=True,
    bang="shell",
    interrupt_withdraws=True,
    asks_for_trust=True,
    composes_unicode=True,
    tab_spaces=4,
)

_CODEX: Final = Persona(
    name="codex",
    look=appearance.CODEX,
    enter_breaks_line_seconds=0.12,
    bang="shell even after spaces",
    unknown_command="stays",
    busy_enter="steer",
    asks_for_trust=True,
    splash_seconds=0.5,
    alternate_screen=True,
    one_ctrl_c_exits=True,
    escape_twice_edits=True,
    strips_leading_space=True,
    collapse_lines=1000,
)

_GEMINI: Final = Persona(
    name="gemini",
    look=appearance.GEMINI,
    enter_lost_seconds=0.2,
    backslash_breaks_line=True,
    unknown_command="prompt",
    asks_for_trust=True,
    strips_leading_space=True,
    composes_unicode=True,
    drops_zero_width=True,
    collapsed="[Pasted Text: {lines} lines]",
)

PERSONAS: Final[Mapping[str, Persona]] = {
    persona.name: persona for persona in (_PLAIN, _CLAUDE, _CODEX, _GEMINI)
}
VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "no-hooks": {"has_hooks": False},
    "no-transcript": {"has_transcript": False},
    "lagging": {"lag_seconds": 0.3},
}


def find(name: str) -> Persona:
    """The persona called *name*, with its variants.

    Raises:
        ValueError: There is none; the message lists what there is.
    """
    base, *variants = name.split("+")
    if base not in PERSONAS or not set(variants) <= VARIANTS.keys():
        raise ValueError(
            f"persona {name!r} is not known; there is {', '.join(PERSONAS)}, "
            f"each with +{' +'.join(VARIANTS)} if wanted"
        )
    persona = replace(PERSONAS[base], name=name)
    for variant in variants:
        persona = replace(persona, **VARIANTS[variant])
    return persona
