"""A headless agent: each prompt is a turn of its own in the agent's pane."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from posthouse.agent.adapter import (
    AgentBusy,
    AgentGone,
    Ending,
    NoRawInput,
    Prompt,
    PromptFailed,
    RunningTurn,
    Standing,
    Step,
    Tell,
    unheard,
)
from posthouse.agent.headless_order import count_turn, order_of
from posthouse.agent.session_connection import Link
from posthouse.contracts import names
from posthouse.contracts.manifest import Manifest
from posthouse.errors import Unavailable
from posthouse.sessions import conversation, secrets
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor
from posthouse.terminal.control import ControlClient
from posthouse.terminal.keys import Key, Literal_
from posthouse.terminal.pane import Pane
from posthouse.tools.tool import Exchange
from posthouse.turns import runner
from posthouse.turns.runner import TurnActive
from posthouse.turns.state import TurnState
from posthouse.turns.turn import Turn, TurnNotFound

#: Whoever wants to interrupt waits so long for a turn that is just being started.
_TURN_STARTS_SECONDS = 2.0
#: A program says its first word within a second or so; nobody is told when, so we look, ever more rarely.
_FIRST_WORD_SECONDS = 0.05
_LAST_WORD_SECONDS = 1.0


class _Running:
    """A turn that can be interrupted without stopping the loop."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.turn_id: str | None = turn.turn_id

    async def interrupt(self) -> bool:
        return await asyncio.to_thread(self._turn.interrupt)


class HeadlessAdapter:
    """One headless agent."""

    is_headless = True
    sight = None

    def __init__(self, session: Session, background: Supervisor | None = None) -> None:
        self._link = Link(session, output=False, background=background)
        self._standing = _gone("nobody has looked yet")
        self._on_change: Callable[[], None] = lambda: None
        #: Unset while a turn is being started that no file shows yet.
        self._is_settled = asyncio.Event()
        self._is_settled.set()

    @property
    def standing(self) -> Standing:
        return self._standing

    async def open(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        await self.look()
        self._link.keep(self._follow, self._lost)

    async def look(self) -> Standing:
        await self._link.attach_now()
        await self._see()
        return self._standing

    async def wait_ready(self) -> None:
        """Return when no turn runs, whoever started it: a gateway that died may have left one."""
        self._require()
        turn = await self._active()
        if turn is not None:
            await turn.ended()
            self._require()

    async def carry_out(self, prompt: Prompt, *, while_busy: bool = False, tell: Tell = unheard) -> None:
        self._require()
        pane = await self._link.agent_pane()
        if pane is None or prompt.instance_id not in (None, self._instance_in(pane)):
            raise AgentBusy("no turn was started: another session has just taken the agent's place")
        self._is_settled.clear()
        try:
            session, turn = await self._start(prompt)
        finally:
            self._is_settled.set()
        tell(Step(stage="submitted", evidence={"source": "process", "turn_id": turn.turn_id}))
        await self._see()
        hearing = asyncio.create_task(_hear(turn, tell))
        try:
            state = await turn.ended()
        finally:
            hearing.cancel()
        await _last_word(hearing, turn, tell)
        if state.status == "completed":
            await self._pin(session, state)
        tell(ending_of(state))
        await self._see()
        if state.status != "completed":
            raise PromptFailed(f"turn {state.turn_id} {state.status}: {state.error or 'it gave no reason'}")

    async def press(self, parts: Sequence[Literal_ | Key]) -> None:
        raise NoRawInput

    async def running_turn(self) -> RunningTurn | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TURN_STARTS_SECONDS):
                await self._is_settled.wait()
        turn = await self._active()
        return None if turn is None else _Running(turn)

    async def exchanges(self) -> Sequence[Exchange]:
        return ()

    async def end_of(self, turn_id: str) -> Ending | None:
        turn = Turn(self._link.session.turns_root / turn_id)
        try:
            state = await turn.ended()
        except TurnNotFound:
            return None
        if state.status == "unknown":
            # Its starter died before a bridge took it: from here on none will.
            await asyncio.to_thread(turn.call_off, "the gateway that ordered it stopped")
            state = await turn.ended()
        if state.status == "completed":
            await self._pin(self._link.session, state)
        await self._see()
        return ending_of(state)

    async def close(self) -> None:
        await self._link.close()

    async def _start(self, prompt: Prompt) -> tuple[Session, Turn]:
        session = await asyncio.to_thread(count_turn, self._link.session)
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
        if self._standing.connectivity == "unavailable":
            raise AgentGone(self._standing.detail)

    async def _active(self) -> Turn | None:
        return await asyncio.to_thread(runner.active, self._link.session.turns_root)

    async def _pin(self, session: Session, state: TurnState) -> None:
        """Let the next turn continue this one's conversation."""

        def pinned(manifest: Manifest) -> Manifest:
            return conversation.after_turn(manifest, turn_index=state.turn_index, chat_id=state.session_id)

        await asyncio.to_thread(sessions.update, session, pinned)
        if state.session_id is not None and self._link.client is not None:
            try:
                await self._link.client.command(
                    "set-environment",
                    "-t",
                    f"={session.tmux_session_name}",
                    names.RESUME_ID,
                    state.session_id,
                )
            except Unavailable:
                return  # the session has just ended; the manifest has the conversation

    async def _follow(self, client: ControlClient) -> None:
        """One look after each attachment: a session without its pane is not relaunched in place."""
        await self._see()

    async def _see(self) -> None:
        """Look at the session and say so if something changed."""
        pane = await self._link.agent_pane()
        if pane is None:
            self._stand(_gone(self._link.reason))
            return
        instance_id = self._instance_in(pane)
        if instance_id == self._standing.instance_id:
            is_known = self._standing.is_known
        else:
            is_known = await self._link.is_named(lambda made: _pane_of(made.manifest) == pane.pane_id)
        self._stand(
            Standing(
                connectivity="connected",
                eligibility="ready" if await self._active() is None else "not_ready",
                instance_id=instance_id,
                is_known=is_known,
            )
        )

    def _instance_in(self, pane: Pane) -> str:
        """The session, told apart from any other before or after it; its turns come and go."""
        generation = self._link.session.manifest.registry_generation_id or self._link.session.session_id
        return f"{generation}:{self._link.server_pid}:{pane.pane_id}"

    def _lost(self) -> None:
        self._stand(_gone(self._link.reason))

    def _stand(self, standing: Standing) -> None:
        if standing != self._standing:
            self._standing = standing
            self._on_change()


def ending_of(state: TurnState) -> Ending:
    """How a turn ended, as its files tell."""
    evidence = {"source": "turn", "turn_id": state.turn_id, "returncode": state.returncode}
    return Ending(
        outcome=state.status if state.status != "active" else "unknown",
        evidence={name: value for name, value in evidence.items() if value is not None},
        answer=state.answer,
        error=state.error,
        usage=state.usage,
        cost_usd=state.cost_usd,
    )


async def _hear(turn: Turn, tell: Tell) -> None:
    """Tell when the program says its first word: it has read its prompt and works on it."""
    delay = _FIRST_WORD_SECONDS
    while not _has_spoken(turn):
        await asyncio.sleep(delay)
        delay = min(delay * 2, _LAST_WORD_SECONDS)
    tell(_acknowledged(turn))


async def _last_word(hearing: "asyncio.Task[None]", turn: Turn, tell: Tell) -> None:
    """Tell of a first word that came with the end."""
    await asyncio.gather(hearing, return_exceptions=True)
    if hearing.cancelled() and _has_spoken(turn):
        tell(_acknowledged(turn))


def _has_spoken(turn: Turn) -> bool:
    try:
        return turn.stdout_path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _acknowledged(turn: Turn) -> Step:
    evidence = {"source": "stdout", "file": turn.stdout_path.name, "offset": 0, "turn_id": turn.turn_id}
    return Step(stage="acknowledged", evidence=evidence)


def _pane_of(manifest: Manifest) -> str | None:
    return None if manifest.tmux is None else manifest.tmux.primary_pane_id


def _gone(detail: str) -> Standing:
    return Standing(connectivity="unavailable", eligibility="unknown", detail=detail)
