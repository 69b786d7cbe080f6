"""The contract of one running agent, as its gateway sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from posthouse.errors import Conflict, Unavailable

if TYPE_CHECKING:  # the command line drives adapters too, and must not pay for pydantic
    from posthouse.contracts.gateway_http import ChatMode

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


class RunningTurn(Protocol):
    """What the agent was doing when somebody asked."""

    async def interrupt(self) -> bool:
        """Interrupt that very turn and no later one. False: it had already ended."""


class AgentAdapter(Protocol):
    """One agent: a TUI in its pane, or headless turns."""

    @property
    def is_headless(self) -> bool: ...

    @property
    def standing(self) -> Standing:
        """What was last seen. Asks nobody."""

    async def open(self, on_change: Callable[[], None]) -> None:
        """Begin to watch the agent. *on_change* is called whenever `standing` has changed.

        Returns after the first look, whether or not the agent is there.
        """

    async def look(self) -> Standing:
        """Look again now, for a caller about to be told that the agent is unavailable."""

    async def wait_ready(self) -> None:
        """Return once the agent would take a prompt. Holds nothing while waiting.

        Raises:
            AgentGone: It ended meanwhile.
        """

    async def carry_out(self, prompt: Prompt) -> None:
        """Give *prompt* to the agent.

        A TUI's prompt is carried out when its submission is confirmed, a headless one when its turn
        ended well. Cancelled: the agent may go on with it.

        Raises:
            AgentBusy: Nothing of it reached the agent.
            PosthouseError: It was not carried out, or that can't be proved; the message says why.
        """

    async def running_turn(self) -> RunningTurn | None:
        """The turn that runs now, or None when the agent is idle or gone."""

    async def close(self) -> None:
        """Stop watching. The agent goes on."""
