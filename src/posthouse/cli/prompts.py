"""Submits a prompt to an agent and returns its receipt.

With a live gateway the prompt goes through the gateway's queue. Without one it runs in this process,
with the code that the gateway uses.
"""

import sys
from dataclasses import dataclass
from typing import TextIO

from posthouse.cli import agent_state, direct_driver, gateways, turns
from posthouse.cli.context import Call
from posthouse.cli.direct_driver import READY_SECONDS, PromptThread
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser, non_negative
from posthouse.cli.polling import Deadline
from posthouse.cli.wiring import Wiring
from posthouse.errors import Conflict
from posthouse.sessions.agents import refuse_legacy, require_reachable
from posthouse.sessions.liveness import Agent
from posthouse.sessions.session import Session
from posthouse.support import clock
from posthouse.turns import runner

_MAX_PROMPT_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest:
    """One prompt with its overrides."""

    prompt: str
    model: str | None = None
    reasoning_level: int | None = None
    #: A second request with the same key returns the receipt of the first.
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedPrompt:
    """The receipt of a submitted prompt, to follow its outcome."""

    submitted_at_utc: str
    detail: str
    #: In the gateway's queue; None when there is no gateway.
    request_id: str | None = None
    #: Of a headless agent.
    turn_id: str | None = None
    #: Runs the prompt when there is no gateway.
    thread: PromptThread | None = None


def prompt_arguments(parser: Parser) -> None:
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the prompt (or --prompt, or stdin)")
    parser.add_argument("--prompt", metavar="TEXT", help="the prompt")
    parser.add_argument("--model", help="the model for this prompt (headless only)")
    parser.add_argument(
        "--reasoning-level",
        type=non_negative,
        metavar="N",
        help="the reasoning level, from 0 (headless only)",
    )


def key_argument(parser: Parser) -> None:
    parser.add_argument(
        "--idempotency-key",
        metavar="KEY",
        help="make the request safe to repeat: a second one with KEY gives no second prompt",
    )


def read_request(call: Call) -> PromptRequest:
    """The request from the options; without a prompt there, it is read from stdin.

    Raises:
        UsageError: The prompt is missing or given twice.
    """
    arguments = call.arguments
    if arguments.text and arguments.prompt is not None:
        raise UsageError("give the prompt once: as TEXT or with --prompt")
    text = arguments.prompt if arguments.prompt is not None else " ".join(arguments.text)
    prompt = text if arguments.text or arguments.prompt is not None else _read_stdin()
    if not prompt.strip():
        raise UsageError("there is no prompt: give TEXT, --prompt TEXT, or write it to stdin")
    return PromptRequest(prompt=prompt, model=arguments.model, reasoning_level=arguments.reasoning_level)


def running_session(agent: Agent, prog: str) -> Session:
    """The session of an agent that runs.

    Raises:
        Conflict: The agent was stopped or died; the message has the command that restarts it.
        InvalidInput, Unavailable: Its backend is not supported, or its tmux server does not respond.
    """
    session = turns.session_of(agent)
    refuse_legacy(agent)
    require_reachable(agent)
    if agent.health != "healthy":
        raise Conflict(
            f"agent {agent.name!r} is not running ({agent.detail or agent.health}); "
            f"start it again with `{prog} agents relaunch {agent.name}`",
            code="not_running",
        )
    return session


def submit(wiring: Wiring, session: Session, request: PromptRequest, deadline: Deadline) -> SubmittedPrompt:
    """Give *request* to the agent of a running session and return the receipt.

    Without a gateway, a TUI has received the prompt on return, and a headless turn is being started.

    Raises:
        Conflict: The request has a key and there is no gateway, or the agent is busy (headless).
        Unavailable: The gateway or the agent did not accept it.
    """
    submitted_at = clock.iso_micros(clock.now())
    key = request.idempotency_key
    # A repeated request must be equal, so with a key the gateway chooses the turn's id.
    turn_id = runner.new_turn_id() if session.manifest.is_headless and key is None else None
    client = gateways.client_of(wiring, session)
    if client is None and key is not None:
        raise Conflict(
            "--idempotency-key needs a gateway, which remembers the key; "
            "start one with `agents gateway attach`",
            code="no_keeper",
        )
    if client is None:
        return _submit_directly(session, request, turn_id, submitted_at, deadline)
    accepted = client.submit_prompt(
        request.prompt,
        turn_id=turn_id,
        model=request.model,
        reasoning_level=request.reasoning_level,
        idempotency_key=key,
    )
    return SubmittedPrompt(
        submitted_at_utc=submitted_at,
        detail="accepted by the gateway",
        request_id=accepted["request_id"],
        turn_id=turn_id,
    )


def _submit_directly(
    session: Session, request: PromptRequest, turn_id: str | None, submitted_at: str, deadline: Deadline
) -> SubmittedPrompt:
    from posthouse.agent.adapter import Prompt

    prompt = Prompt(
        text=request.prompt,
        turn_id=turn_id,
        model=request.model,
        reasoning_level=request.reasoning_level,
    )
    left = deadline.left()
    thread = PromptThread(session, prompt, ready_seconds=READY_SECONDS if left is None else left)
    if turn_id is None:
        thread.finish()
    detail = "the agent received it" if turn_id is None else "run by this process: there is no gateway"
    return SubmittedPrompt(submitted_at_utc=submitted_at, detail=detail, turn_id=turn_id, thread=thread)


def interrupt(wiring: Wiring, agent: Agent, session: Session) -> tuple[bool, str]:
    """Interrupt the agent; returns whether anything was running, and a description."""
    if agent_state.observe(agent, session).phase != "active":
        return False, f"{agent.name} is not doing anything"
    client = gateways.client_of(wiring, session)
    if client is not None:
        return True, f"interrupt accepted by the gateway ({client.interrupt()['request_id']})"
    did = direct_driver.interrupt(session)
    return did, f"{agent.name} was interrupted" if did else f"{agent.name} had just finished"


def _read_stdin() -> str:
    stream: TextIO | None = sys.stdin
    if stream is None:
        # Closed by the parent process.
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
