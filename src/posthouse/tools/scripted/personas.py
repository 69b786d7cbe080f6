"""The measured worst-case behaviour of each real CLI. Data only.

A persona is `claude`, `codex`, `gemini` or `plain`, with optional faults:
`gemini+lagging`, `claude+no-hooks+no-transcript`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from posthouse.tools.scripted import appearance
from posthouse.tools.scripted.appearance import Appearance


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """The behaviour of one CLI. The defaults are harmless."""

    name: str
    appearance: Appearance
    #: How long Enter is lost after a paste or a burst of typed text.
    enter_lost_seconds: float = 0.0
    #: How long Enter is a newline after a burst of typed text.
    enter_breaks_line_seconds: float = 0.0
    #: Enter after a backslash is a newline.
    backslash_breaks_line: bool = False
    #: How text with a leading `!` is handled.
    bang: Literal["prompt", "shell", "shell even after spaces"] = "prompt"
    unknown_command: Literal["lost", "stays", "prompt"] = "lost"
    #: Enter during a turn: queue the prompt, or steer the turn.
    busy_enter: Literal["queue", "steer"] = "queue"
    #: Escape before any output returns the prompt as a draft, without a notice.
    interrupt_withdraws: bool = False
    asks_for_trust: bool = False
    #: How long the composer is visible before it accepts input.
    splash_seconds: float = 0.0
    alternate_screen: bool = False
    #: One Ctrl-C on an empty composer ends the program.
    one_ctrl_c_exits: bool = False
    #: A second Escape on an empty composer restores the last prompt.
    escape_twice_edits: bool = False
    strips_leading_space: bool = False
    composes_unicode: bool = False
    drops_zero_width: bool = False
    tab_spaces: int | None = None
    #: A paste with more lines is shown as `collapsed`.
    collapse_lines: int = 10
    collapsed: str = "[Pasted text #{number} +{lines} lines]"
    has_hooks: bool = True
    has_transcript: bool = True
    #: The delay of hooks and transcript.
    lag_seconds: float = 0.0


_PLAIN: Final = Persona(name="plain", appearance=appearance.PLAIN)

_CLAUDE: Final = Persona(
    name="claude",
    appearance=appearance.PLAIN,
    backslash_breaks_line=True,
    bang="shell",
    interrupt_withdraws=True,
    asks_for_trust=True,
    composes_unicode=True,
    tab_spaces=4,
)

_CODEX: Final = Persona(
    name="codex",
    appearance=appearance.CODEX,
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
    appearance=appearance.GEMINI,
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
        ValueError: Unknown persona; the message lists the valid ones.
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
