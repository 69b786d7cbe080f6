"""The contract of one running agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from posthouse.errors import Conflict, InvalidInput, Unavailable

if TYPE_CHECKING:  # the command line drives adapters too, and must not pay for pydantic
    from posthouse.contracts.gateway_http import ChatMode
    from posthouse.terminal.keys import Key, LiteralText
    from posthouse.tools.tool import Exchange
    from posthouse.tracking.observation import Observation

Connectivity = Literal["connected", "unavailable"]
Eligibility = Literal["ready", "unknown", "not_ready"]


class AgentGone(Unavailable):
    """The agent's terminal or program is gone; the message states which."""

    code = "agent_gone"


class AgentBusy(Conflict):
    """The agent accepted nothing; retry once it is ready."""

    code = "agent_busy"


class PromptFailed(Conflict):
    """The agent did not complete the prompt, or its completion can't be confirmed."""

    code = "prompt_failed"


class PromptUnconfirmed(PromptFailed):
    """The prompt was typed; whether the agent accepted it is unknown."""

    code = "unproven"


def no_raw_input() -> InvalidInput:
    """The error for raw keys sent to a headless agent, which has no terminal input."""
    return InvalidInput(
        "raw keys are for TUIs; this agent is headless: give it a prompt", code="no_raw_input"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """Status of the agent at one moment."""

    connectivity: Connectivity
    eligibility: Eligibility
    #: Identifies the program or session; None while unavailable.
    instance_id: str | None = None
    #: Whether the manifest names this instance, so that our launch or relaunch started it.
    is_known: bool = False
    #: Human-readable reason why it is unavailable.
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt with its options."""

    text: str
    turn_id: str | None = None
    #: None: the session's pinned conversation.
    chat_mode: "ChatMode | None" = None
    chat_id: str | None = None
    model: str | None = None
    reasoning_level: int | None = None
    #: The only instance that may receive it; None: the current one.
    instance_id: str | None = None

    @staticmethod
    def from_payload(payload: Mapping[str, Any]) -> "Prompt":
        """Read the payload of a `submit_prompt` row; it was validated on acceptance."""
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
class PromptProgress:
    """A stage that a prompt reached at the agent, with its evidence."""

    stage: Literal["typed", "submitted", "acknowledged"]
    #: Small; never contains the prompt.
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptResult:
    """How the turn of a prompt ended, with its evidence."""

    outcome: Literal["completed", "failed", "interrupted", "unknown"]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    answer: str | None = None
    error: str | None = None
    #: Tokens under the CLI's own keys, and dollars, where it reports them.
    usage: Mapping[str, Any] | None = None
    cost_usd: float | None = None


#: Called with each progress or result of a prompt, as soon as it is known. Must be quick and never raise.
OnProgress = Callable[[PromptProgress | PromptResult], None]


def ignore_progress(_: PromptProgress | PromptResult) -> None:
    """For callers that do not track a prompt."""


class RunningTurn(Protocol):
    """The turn that was running at the time of the call."""

    @property
    def turn_id(self) -> str | None:
        """The id of a headless turn; None for a TUI."""

    async def interrupt(self) -> bool:
        """Interrupt this turn and no later one. False when it had already ended."""


class AgentAdapter(Protocol):
    """One agent: a TUI in its pane, or headless turns."""

    @property
    def is_headless(self) -> bool: ...

    @property
    def status(self) -> AgentStatus:
        """The last status, without a fresh observation."""

    @property
    def observation(self) -> "Observation | None":
        """The last observation of a TUI; None for a headless agent and before the first one."""

    async def open(self, on_change: Callable[[], None]) -> None:
        """Start observing the agent.

        *on_change* is called whenever `status` or the meaning of `observation` changes. Returns after the
        first observation, whether or not the agent is available.
        """

    async def refresh(self) -> AgentStatus:
        """Observe the agent now and return its status, for example before refusing a request."""

    async def wait_ready(self) -> None:
        """Return once the agent would accept a prompt. Holds no lock while waiting.

        Raises:
            AgentGone: It ended meanwhile.
        """

    async def execute(
        self, prompt: Prompt, *, while_busy: bool = False, on_progress: OnProgress = ignore_progress
    ) -> None:
        """Give *prompt* to the agent.

        Returns when the submission is confirmed (TUI) or when the turn completed (headless). With
        *while_busy* a working TUI may put the prompt into its own queue. After cancellation the agent may
        still continue with it.

        *on_progress* gets each stage once, in order. A headless turn's result is reported before this
        returns or raises. A TUI's turn continues, and its result appears in `exchanges`; commands appear in
        no transcript, so their result is reported here.

        Raises:
            AgentBusy: Nothing reached the agent, or another instance replaced it; no progress is reported.
            PromptUnconfirmed: It was typed and may have been accepted.
            PosthouseError: It failed, or its completion can't be confirmed.
        """

    async def send_keys(self, parts: "Sequence[LiteralText | Key]") -> None:
        """Type raw keys, with no claim about their effect.

        Raises:
            InvalidInput: The agent is headless (`no_raw_input`).
            AgentBusy: Another program was still typing after 2 s; nothing was typed.
            Conflict: The program ended or a person scrolls; earlier parts may have been typed.
            Unavailable: The terminal is gone or does not answer.
        """

    async def running_turn(self) -> RunningTurn | None:
        """The running turn, or None when the agent is idle or gone."""

    async def turn_result(self, turn_id: str) -> PromptResult | None:
        """Wait for a turn of an earlier process and return its result; None when it never started."""

    async def exchanges(self) -> "Sequence[Exchange]":
        """Exchanges of the newest conversation in a TUI's transcript; empty for a headless agent."""

    async def close(self) -> None:
        """Stop observing. The agent keeps running."""
