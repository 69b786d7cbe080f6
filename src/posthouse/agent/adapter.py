"""The contract of one running agent, as whoever drives it sees it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from posthouse.errors import Conflict, InvalidInput, Unavailable

if TYPE_CHECKING:  # the command line drives adapters too, and must not pay for pydantic
    from posthouse.contracts.gateway_http import ChatMode
    from posthouse.terminal.keys import Key, Literal_
    from posthouse.tools.tool import Exchange
    from posthouse.tracking.observation import Sight

Connectivity = Literal["connected", "unavailable"]
Eligibility = Literal["ready", "unknown", "not_ready"]


class AgentGone(Unavailable):
    """The agent's terminal or program is not there; the message says which."""

    code = "agent_gone"


class AgentBusy(Conflict):
    """The agent took nothing just now; it may be asked again once it is ready."""

    code = "agent_busy"


class PromptFailed(Conflict):
    """The agent did not carry the prompt out, or nobody can prove that it did."""

    code = "prompt_failed"


class Unproven(PromptFailed):
    """The prompt was typed, and nothing proves that the agent took it, or that it did not."""

    code = "unproven"


class NoRawInput(InvalidInput):
    """Each turn of a headless agent is a program of its own; there is nobody to type to."""

    code = "no_raw_input"

    def __init__(self) -> None:
        super().__init__("raw keys are for TUIs; this agent is headless: give it a prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of the agent at one moment."""

    connectivity: Connectivity
    eligibility: Eligibility
    #: Which program or session it is; None while it is not there.
    instance_id: str | None = None
    #: Our own launch or relaunch started this very instance: the manifest names it.
    is_known: bool = False
    #: Why it is unavailable, for a person.
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt with everything that was asked for it."""

    text: str
    turn_id: str | None = None
    #: None: the session's own pinned conversation.
    chat_mode: "ChatMode | None" = None
    chat_id: str | None = None
    model: str | None = None
    reasoning_level: int | None = None
    #: The one instance that may get it; None: whichever stands there.
    instance_id: str | None = None

    @staticmethod
    def from_payload(payload: Mapping[str, Any]) -> "Prompt":
        """Read the payload of a `submit_prompt` row, which was checked when it was accepted."""
        chat = payload.get("chat_session") or {}
        model = (payload.get("execution") or {}).get("model") or {}
        return Prompt(
            text=payload["prompt"],
            turn_id=payload.get("turn_id"),
            chat_mode=chat.get("mode"),
            chat_id=chat.get("id"),
            model=model.get("name"),
            reasoning_level=(model.get("reasoning") or {}).get("level"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How far a prompt has come at the agent, and how that is known."""

    stage: Literal["typed", "submitted", "acknowledged"]
    #: Small, and never the prompt itself.
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the turn of a prompt ended, and how that is known."""

    outcome: Literal["completed", "failed", "interrupted", "unknown"]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    answer: str | None = None
    error: str | None = None
    #: Tokens in the CLI's own words, and dollars, where it tells them.
    usage: Mapping[str, Any] | None = None
    cost_usd: float | None = None


#: Hears what becomes of a prompt, as soon as it is known. It must be quick and never fail.
Tell = Callable[[Step | Ending], None]


def unheard(_: Step | Ending) -> None:
    """For callers who do not follow a prompt."""


class RunningTurn(Protocol):
    """What the agent was doing when somebody asked."""

    @property
    def turn_id(self) -> str | None:
        """The headless turn's; a TUI's turns have none."""

    async def interrupt(self) -> bool:
        """Interrupt that very turn and no later one. False: it had already ended."""


class AgentAdapter(Protocol):
    """One agent: a TUI in its pane, or headless turns."""

    @property
    def is_headless(self) -> bool: ...

    @property
    def standing(self) -> Standing:
        """What was last seen. Asks nobody."""

    @property
    def sight(self) -> "Sight | None":
        """What a TUI last showed; None for a headless agent, and before the first look. Asks nobody."""

    async def open(self, on_change: Callable[[], None]) -> None:
        """Begin to watch the agent.

        *on_change* is called whenever `standing` has changed, or what `sight` means. Returns after the
        first look, whether or not the agent is there.
        """

    async def look(self) -> Standing:
        """Look again now, for a caller about to be told that the agent is unavailable."""

    async def wait_ready(self) -> None:
        """Return once the agent would take a prompt. Holds nothing while waiting.

        Raises:
            AgentGone: It ended meanwhile.
        """

    async def carry_out(self, prompt: Prompt, *, while_busy: bool = False, tell: Tell = unheard) -> None:
        """Give *prompt* to the agent.

        A TUI's prompt is carried out when its submission is confirmed, a headless one when its turn
        ended well. With *while_busy* a TUI that works may take it into its own queue. Cancelled: the
        agent may go on with it.

        *tell* hears each step once, in order. A headless turn's ending is told before this returns or
        raises; a TUI's turn goes on, and its ending is found in `exchanges`, but for commands, of which
        no transcript tells: their ending is told here.

        Raises:
            AgentBusy: Nothing of it reached the agent, or another instance has taken its place; nothing
                was told.
            Unproven: It was typed and may have been taken.
            PosthouseError: It was not carried out, or that can't be proved; the message says why.
        """

    async def press(self, parts: "Sequence[Literal_ | Key]") -> None:
        """Type raw keys, with no claim about what they do.

        Raises:
            NoRawInput: The agent is headless.
            AgentBusy: Another program was still typing after 2 s; nothing was typed.
            Conflict: The program ended or a person scrolls; earlier parts may have been typed.
            Unavailable: The terminal is gone or does not answer.
        """

    async def running_turn(self) -> RunningTurn | None:
        """The turn that runs now, or None when the agent is idle or gone."""

    async def end_of(self, turn_id: str) -> Ending | None:
        """How a turn that an earlier process began has ended, once it has; None when it never began."""

    async def exchanges(self) -> "Sequence[Exchange]":
        """What a TUI's own transcript tells of its newest conversation; empty for a headless agent."""

    async def close(self) -> None:
        """Stop watching. The agent goes on."""
