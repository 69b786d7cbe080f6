"""Giving an agent a prompt: what is asked, which way it goes, and the receipt for it.

With a live gateway a prompt goes through its queue, as everybody's does. Without one it is carried
out from here, by the same code that the gateway uses.
"""

import sys
from dataclasses import dataclass
from typing import TextIO

from posthouse.cli import agent_state, direct_driver, gateways, turns
from posthouse.cli.context import Call
from posthouse.cli.direct_driver import READY_SECONDS, Carrier
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, natural
from posthouse.cli.polling import Deadline
from posthouse.cli.wiring import Wiring
from posthouse.errors import Conflict
from posthouse.sessions.agents import refuse_legacy, require_answer
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.turns import runner

_MAX_PROMPT_BYTES = 4 << 20


class NotRunning(Conflict):
    """The agent is not there to be asked."""

    code = "not_running"


class NoKeeper(Conflict):
    """Idempotency keys are kept by gateways, and the agent has none."""

    code = "no_keeper"

    def __init__(self) -> None:
        super().__init__(
            "--idempotency-key needs a gateway, which remembers the key; "
            "start one with `agents gateway attach`"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One prompt with the overrides that hold for it alone."""

    prompt: str
    model: str | None = None
    reasoning_level: int | None = None
    #: Whoever asks again with the same one gets what became of the first.
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """The receipt: what to look for to learn what became of the question."""

    asked_at_utc: str
    detail: str
    #: In the gateway's queue; None when there is no gateway.
    request_id: str | None = None
    #: Of a headless agent.
    turn_id: str | None = None
    #: Who carries it out, where no gateway does.
    carrier: Carrier | None = None


def prompt_arguments(parser: Parser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the prompt (or --prompt, or stdin)")
    parser.add_argument("--prompt", metavar="TEXT", help="the prompt")
    parser.add_argument("--model", help="the model, for this prompt alone (headless)")
    parser.add_argument(
        "--reasoning-level", type=natural, metavar="N", help="how hard to think, from 0 (headless)"
    )


def key_argument(parser: Parser) -> None:
    parser.add_argument(
        "--idempotency-key",
        metavar="KEY",
        help="safe to repeat: whoever says KEY again gives no second prompt",
    )


def question_of(call: Call) -> Question:
    """What the options ask; the prompt comes from stdin when they have none.

    Raises:
        UsageError: There is no prompt, or two of them.
    """
    arguments = call.arguments
    if arguments.text and arguments.prompt is not None:
        raise UsageError("give the prompt once: as TEXT or with --prompt")
    text = arguments.prompt if arguments.prompt is not None else " ".join(arguments.text)
    prompt = text if arguments.text or arguments.prompt is not None else _stdin()
    if not prompt.strip():
        raise UsageError("there is no prompt: give TEXT, --prompt TEXT, or write it to stdin")
    return Question(prompt=prompt, model=arguments.model, reasoning_level=arguments.reasoning_level)


def running(agent: Agent, prog: str) -> Session:
    """The session of an agent that can be asked.

    Raises:
        NotRunning: It was stopped or died; the message says how to start it again.
        LegacyBackend, Unreachable: Its backend is only shown, or its tmux server does not answer.
    """
    found = turns.session_of(agent)
    refuse_legacy(agent)
    require_answer(agent)
    if agent.health != "healthy":
        raise NotRunning(
            f"agent {agent.name!r} is not running ({agent.detail or agent.health}); "
            f"start it again with `{prog} agents relaunch {agent.name}`"
        )
    return found


def ask(wiring: Wiring, found: Session, question: Question, deadline: Deadline) -> Ticket:
    """Give *question* to the agent of a running session and return the receipt.

    Without a gateway a TUI has it when this returns, and a headless turn is being started.

    Raises:
        NoKeeper: It has a key, and there is no gateway.
        Conflict: It is busy with a turn (headless).
        Unavailable: The gateway or the agent would not take it.
    """
    asked_at = clock.iso_micros(clock.now())
    key = question.idempotency_key
    # A repeat has to say the same, so with a key the gateway chooses the turn's name.
    turn_id = runner.new_turn_id() if found.manifest.is_headless and key is None else None
    client = gateways.client_of(wiring, found)
    if client is None and key is not None:
        raise NoKeeper
    if client is None:
        return _directly(found, question, turn_id, asked_at, deadline)
    accepted = client.submit_prompt(
        question.prompt,
        turn_id=turn_id,
        model=question.model,
        reasoning_level=question.reasoning_level,
        idempotency_key=key,
    )
    return Ticket(
        asked_at_utc=asked_at,
        detail="accepted by the gateway",
        request_id=accepted["request_id"],
        turn_id=turn_id,
    )


def _directly(
    found: Session, question: Question, turn_id: str | None, asked_at: str, deadline: Deadline
) -> Ticket:
    from posthouse.agent.adapter import Prompt

    prompt = Prompt(
        text=question.prompt,
        turn_id=turn_id,
        model=question.model,
        reasoning_level=question.reasoning_level,
    )
    left = deadline.left()
    carrier = Carrier(found, prompt, ready_seconds=READY_SECONDS if left is None else left)
    if turn_id is None:
        carrier.finish()
    detail = "the agent took it" if turn_id is None else "carried out from here: there is no gateway"
    return Ticket(asked_at_utc=asked_at, detail=detail, turn_id=turn_id, carrier=carrier)


def interrupt(wiring: Wiring, agent: Agent, found: Session) -> tuple[bool, str]:
    """Interrupt what the agent does: whether there was anything, and what happened in words."""
    if agent_state.observe(agent, found).phase != "active":
        return False, f"{agent.name} is not doing anything"
    client = gateways.client_of(wiring, found)
    if client is not None:
        return True, f"interrupt accepted by the gateway ({client.interrupt()['request_id']})"
    did = direct_driver.interrupt(found)
    return did, f"{agent.name} was interrupted" if did else f"{agent.name} was just done"


def _stdin() -> str:
    stream: TextIO | None = sys.stdin
    if stream is None:
        # Closed by whoever started us.
        return ""
    if stream.isatty():
        print("type the prompt, then Ctrl-D:", file=sys.stderr)
    content = stream.buffer.read(_MAX_PROMPT_BYTES + 1)
    if len(content) > _MAX_PROMPT_BYTES:
        raise UsageError(f"the prompt is over {_MAX_PROMPT_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"the prompt on stdin is not UTF-8: {error}") from error
