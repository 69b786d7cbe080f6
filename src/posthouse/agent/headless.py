"""A headless agent: each prompt is a turn of its own in the agent's pane."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from posthouse.agent.adapter import (
    AgentBusy,
    AgentGone,
    AgentStatus,
    OnProgress,
    Prompt,
    PromptFailed,
    PromptProgress,
    PromptResult,
    RunningTurn,
    ignore_progress,
    no_raw_input,
)
from posthouse.agent.headless_order import count_turn, order_of
from posthouse.agent.session_connection import SessionConnection
from posthouse.contracts import names
from posthouse.contracts.manifest import Manifest
from posthouse.errors import Unavailable
from posthouse.sessions import conversation, secrets
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor
from posthouse.terminal.control import ControlClient
from posthouse.terminal.keys import Key, LiteralText
from posthouse.terminal.pane import Pane
from posthouse.tools.tool import Exchange
from posthouse.turns import runner
from posthouse.turns.runner import TurnActive
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn, TurnNotFound

#: How long an interrupt waits for a turn that is just starting.
_TURN_STARTS_SECONDS = 2.0
#: A program writes its first output within about a second; polled with backoff.
_OUTPUT_POLL_SECONDS = 0.05
_MAX_OUTPUT_POLL_SECONDS = 1.0


class _HeadlessTurn:
    """A turn that can be interrupted without stopping the loop."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.turn_id: str | None = turn.turn_id

    async def interrupt(self) -> bool:
        return await asyncio.to_thread(self._turn.interrupt)


class HeadlessAdapter:
    """One headless agent."""

    is_headless = True
    observation = None

    def __init__(self, session: Session, background: Supervisor | None = None) -> None:
        self._connection = SessionConnection(session, output=False, background=background)
        self._status = _unavailable("not observed yet")
        self._on_change: Callable[[], None] = lambda: None
        #: Cleared while a turn starts that has no files yet.
        self._no_turn_starting = asyncio.Event()
        self._no_turn_starting.set()

    @property
    def status(self) -> AgentStatus:
        return self._status

    async def open(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        await self.refresh()
        self._connection.keep_attached(self._follow, self._lost)

    async def refresh(self) -> AgentStatus:
        await self._connection.attach_now()
        await self._refresh_status()
        return self._status

    async def wait_ready(self) -> None:
        """Return when no turn runs, including turns left by an earlier gateway."""
        self._require()
        turn = await self._active()
        if turn is not None:
            await turn.ended()
            self._require()

    async def execute(
        self, prompt: Prompt, *, while_busy: bool = False, on_progress: OnProgress = ignore_progress
    ) -> None:
        self._require()
        pane = await self._connection.agent_pane()
        if pane is None or prompt.instance_id not in (None, self._instance_in(pane)):
            raise AgentBusy("no turn was started: another session replaced the agent")
        self._no_turn_starting.clear()
        try:
            session, turn = await self._start(prompt)
        finally:
            self._no_turn_starting.set()
        on_progress(
            PromptProgress(stage="submitted", evidence={"source": "process", "turn_id": turn.turn_id})
        )
        await self._refresh_status()
        output_task = asyncio.create_task(_report_first_output(turn, on_progress))
        try:
            state = await turn.ended()
        finally:
            output_task.cancel()
        await _report_late_output(output_task, turn, on_progress)
        if state.status == "completed":
            await self._pin(session, state)
        on_progress(result_of(state))
        await self._refresh_status()
        if state.status != "completed":
            raise PromptFailed(f"turn {state.turn_id} {state.status}: {state.error or 'it gave no reason'}")

    async def send_keys(self, parts: Sequence[LiteralText | Key]) -> None:
        raise no_raw_input()

    async def running_turn(self) -> RunningTurn | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TURN_STARTS_SECONDS):
                await self._no_turn_starting.wait()
        turn = await self._active()
        return None if turn is None else _HeadlessTurn(turn)

    async def exchanges(self) -> Sequence[Exchange]:
        return ()

    async def turn_result(self, turn_id: str) -> PromptResult | None:
        turn = Turn(self._connection.session.turns_root / turn_id)
        try:
            state = await turn.ended()
        except TurnNotFound:
            return None
        if state.status == "unknown":
            # Its starter died before a bridge claimed it; cancel it so that none can.
            await asyncio.to_thread(turn.cancel_unstarted, "the gateway that ordered it stopped")
            state = await turn.ended()
        if state.status == "completed":
            await self._pin(self._connection.session, state)
        await self._refresh_status()
        return result_of(state)

    async def close(self) -> None:
        await self._connection.close()

    async def _start(self, prompt: Prompt) -> tuple[Session, Turn]:
        session = await asyncio.to_thread(count_turn, self._connection.session)
        order = order_of(session, prompt)
        try:
            turn = await asyncio.to_thread(
                runner.start,
                session.tmux,
                session.tmux_session_name,
                session.turns_root,
                order,
                variables_file=secrets.file_of(session.root),
            )
        except TurnActive as error:
            raise AgentBusy(str(error)) from error
        return session, turn

    def _require(self) -> None:
        if self._status.connectivity == "unavailable":
            raise AgentGone(self._status.detail)

    async def _active(self) -> Turn | None:
        return await asyncio.to_thread(runner.active, self._connection.session.turns_root)

    async def _pin(self, session: Session, state: TurnState) -> None:
        """Store this turn's conversation in manifest and tmux, so that the next turn continues it."""

        def pinned(manifest: Manifest) -> Manifest:
            return conversation.after_turn(manifest, turn_index=state.turn_index, chat_id=state.session_id)

        await asyncio.to_thread(sessions.update, session, pinned)
        if state.session_id is not None and self._connection.client is not None:
            try:
                await self._connection.client.command(
                    "set-environment",
                    "-t",
                    f"={session.tmux_session_name}",
                    names.RESUME_ID,
                    state.session_id,
                )
            except Unavailable:
                return  # the session ended; the manifest has the conversation

    async def _follow(self, client: ControlClient) -> None:
        """Refresh once per attachment: a session without its pane is not relaunched in place."""
        await self._refresh_status()

    async def _refresh_status(self) -> None:
        """Refresh the status and notify if it changed."""
        pane = await self._connection.agent_pane()
        if pane is None:
            self._set_status(_unavailable(self._connection.reason))
            return
        instance_id = self._instance_in(pane)
        if instance_id == self._status.instance_id:
            is_known = self._status.is_known
        else:
            is_known = await self._connection.is_named_in_manifest(
                lambda made: _pane_of(made.manifest) == pane.pane_id
            )
        self._set_status(
            AgentStatus(
                connectivity="connected",
                eligibility="ready" if await self._active() is None else "not_ready",
                instance_id=instance_id,
                is_known=is_known,
            )
        )

    def _instance_in(self, pane: Pane) -> str:
        """Identifies the session across relaunches, independent of its turns."""
        generation = (
            self._connection.session.manifest.registry_generation_id or self._connection.session.session_id
        )
        return f"{generation}:{self._connection.server_pid}:{pane.pane_id}"

    def _lost(self) -> None:
        self._set_status(_unavailable(self._connection.reason))

    def _set_status(self, status: AgentStatus) -> None:
        if status != self._status:
            self._status = status
            self._on_change()


def result_of(state: TurnState) -> PromptResult:
    """The result of a turn, from its files."""
    evidence = {"source": "turn", "turn_id": state.turn_id, "returncode": state.returncode}
    return PromptResult(
        outcome=state.status if state.status != "active" else "unknown",
        evidence={name: value for name, value in evidence.items() if value is not None},
        answer=state.answer,
        error=state.error,
        usage=state.usage,
        cost_usd=state.cost_usd,
    )


async def _report_first_output(turn: Turn, on_progress: OnProgress) -> None:
    """Report the first output of the program as acknowledgement of the prompt."""
    delay = _OUTPUT_POLL_SECONDS
    while not _has_output(turn):
        await asyncio.sleep(delay)
        delay = min(delay * 2, _MAX_OUTPUT_POLL_SECONDS)
    on_progress(_acknowledged(turn))


async def _report_late_output(output_task: "asyncio.Task[None]", turn: Turn, on_progress: OnProgress) -> None:
    """Report a first output that appeared only at the end of the turn."""
    await asyncio.gather(output_task, return_exceptions=True)
    if output_task.cancelled() and _has_output(turn):
        on_progress(_acknowledged(turn))


def _has_output(turn: Turn) -> bool:
    try:
        return turn.stdout_path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _acknowledged(turn: Turn) -> PromptProgress:
    evidence = {"source": "stdout", "file": turn.stdout_path.name, "offset": 0, "turn_id": turn.turn_id}
    return PromptProgress(stage="acknowledged", evidence=evidence)


def _pane_of(manifest: Manifest) -> str | None:
    return None if manifest.tmux is None else manifest.tmux.primary_pane_id


def _unavailable(detail: str) -> AgentStatus:
    return AgentStatus(connectivity="unavailable", eligibility="unknown", detail=detail)
