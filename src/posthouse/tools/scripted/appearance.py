"""The screen appearance of each real CLI, as far as screen reading depends on it. Data only.

Template fields: `{folder}` (the working directory's name), `{path}`, `{model}` and `{spinner}`.
"""

from dataclasses import dataclass
from typing import Final

NBSP: Final = "\u00a0"
BRAILLE: Final = "⠂⠐"


@dataclass(frozen=True, slots=True, kw_only=True)
class Appearance:
    """The stable screen elements of one CLI."""

    #: The start of the composer; `past_marker` is the start of a past prompt.
    marker: str
    past_marker: str
    #: The full-width rows above and below the composer, by their character; "" for none.
    rule_above: str
    rule_below: str
    #: Whether past prompts are between the same rows.
    frames_past: bool = False
    #: Shown dim in an empty composer.
    placeholder: str
    queued_placeholder: str
    idle_title: str
    active_title: str
    blocked_title: str
    #: The start of an answer, of a tool's output, and of the selected choice of a dialog.
    answer_marker: str
    result_marker: str
    selector: str
    #: The row of a running turn, and the one that closes it ("" for none).
    working: str
    done: str
    interrupted: str
    error: str
    #: Rows below the composer. `status` is displayed only once the program is ready.
    idle_footer: str
    active_footer: str
    status: str
    dialog_footer: str


PLAIN: Final = Appearance(
    marker=f"❯{NBSP}",
    past_marker="❯ ",
    rule_above="─",
    rule_below="─",
    placeholder="",
    queued_placeholder="Press up to edit queued messages",
    idle_title="✳ scripted",
    active_title="{spinner} scripted",
    blocked_title="✳ scripted",
    answer_marker="● ",
    result_marker="  ⎿  ",
    selector="❯",
    working="✶ Working…",
    done="✻ Worked for {seconds}s",
    interrupted="  ⎿  Interrupted · What should the agent do instead?",
    error="● {text}",
    idle_footer="  ? for shortcuts",
    active_footer="  esc to interrupt",
    status="",
    dialog_footer=" Esc to cancel · Enter to confirm",
)

CODEX: Final = Appearance(
    marker="› ",
    past_marker="› ",
    rule_above="",
    rule_below="",
    placeholder="Ask the agent to do anything",
    queued_placeholder="Ask the agent to do anything",
    idle_title="{folder}",
    active_title="{spinner} {folder}",
    blocked_title="[ . ] Action Required | {folder}",
    answer_marker="• ",
    result_marker="  └ ",
    selector="›",
    working="• Working ({seconds}s • esc to interrupt)",
    done="  Worked for {seconds}s",
    interrupted="■ Conversation interrupted",
    error="■ {text}",
    idle_footer="  ? for shortcuts",
    active_footer="  ? for shortcuts",
    status="  {model} default · {path}",
    dialog_footer="  Press enter to confirm or esc to cancel",
)

GEMINI: Final = Appearance(
    marker=" > ",
    past_marker=" > ",
    rule_above="▄",
    rule_below="▀",
    frames_past=True,
    placeholder="  Type your message or @path/to/file",
    queued_placeholder="  Type your message or @path/to/file",
    idle_title="◇  Ready ({folder})",
    active_title="✦  Working… ({folder})",
    blocked_title="✋  Action Required ({folder})",
    answer_marker="✦ ",
    result_marker="  ",
    selector="●",
    working=" {spinner} Thinking... (esc to cancel, {seconds}s)",
    done="",
    interrupted="ℹ Request cancelled.",
    error="✕ [{text}]",
    idle_footer=" workspace (/directory)",
    active_footer=" workspace (/directory)",
    status=" {path}  no sandbox  {model}",
    dialog_footer=" Use arrows and Enter to choose (esc to cancel)",
)
