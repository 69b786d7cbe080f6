"""The attachment to a session whose observer dies."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from posthouse.agent import session_connection
from posthouse.agent.session_connection import SessionConnection
from posthouse.agent.tui_watch import first_of
from posthouse.errors import Unavailable
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support.supervision import Supervisor
from posthouse.terminal.control import ControlClient

Until = Callable[[Callable[[], bool]], Awaitable[None]]


class FakeClient:
    """A control client whose session ends when the test says so."""

    def __init__(self) -> None:
        self._is_over = asyncio.Event()

    async def command(self, *_: str) -> str:
        return "1"

    async def closed(self) -> None:
        await self._is_over.wait()

    async def close(self) -> None:
        self._is_over.set()

    @property
    def is_closed(self) -> bool:
        return self._is_over.is_set()


class Attached:
    """A link to *session*, with the clients that it attached. A stand-in for tmux, which never fails so."""

    def __init__(self, session: Session, patch: pytest.MonkeyPatch) -> None:
        self.clients: list[FakeClient] = []
        self.background = Supervisor(logging.getLogger("test"), first_delay_seconds=0.001)
        self.lost = 0
        patch.setattr(sessions, "read", lambda _: session)
        patch.setattr(ControlClient, "attach", self._attach)
        patch.setattr(session_connection, "_FIRST_RETRY_SECONDS", 0.001)
        self.link = SessionConnection(session, output=False, background=self.background)

    def keep(self, follow: Callable[[Any], Awaitable[None]]) -> None:
        self.link.keep_attached(follow, self._lost)

    async def _attach(self, *_: object, **__: object) -> FakeClient:
        self.clients.append(FakeClient())
        return self.clients[-1]

    def _lost(self) -> None:
        self.lost += 1


@pytest.mark.parametrize(
    ("error", "deaths"),
    [(RecursionError("a screen of a thousand levels"), 1), (Unavailable("tmux says no"), 0)],
)
def test_an_observer_that_dies_is_started_again_on_a_new_attachment(
    made_session: Session, monkeypatch: pytest.MonkeyPatch, until: Until, error: Exception, deaths: int
) -> None:
    """The old attachment is closed. A refusal of tmux is no death, but ends the attachment too."""

    async def story() -> None:
        attached = Attached(made_session, monkeypatch)

        async def follow(client: Any) -> None:
            if len(attached.clients) == 1:
                raise error
            await asyncio.Event().wait()

        attached.keep(follow)
        await until(lambda: len(attached.clients) == 2)

        assert [one.is_closed for one in attached.clients] == [True, False]
        assert attached.lost == 1
        assert [one.deaths for one in attached.background.failures] == [1] * deaths
        assert attached.background.current_problem is None
        await attached.link.close()
        assert [one.is_closed for one in attached.clients] == [True, True]
        assert attached.lost == 1

    asyncio.run(story())


def test_an_observer_that_has_seen_enough_keeps_the_attachment(
    made_session: Session, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    """Until the session ends."""

    async def story() -> None:
        attached = Attached(made_session, monkeypatch)
        looks: list[int] = []

        async def follow(client: Any) -> None:
            looks.append(1)

        attached.keep(follow)
        await until(lambda: len(looks) == 1)
        for _ in range(5):
            await asyncio.sleep(0)
        assert [one.is_closed for one in attached.clients] == [False]

        await attached.clients[0].close()
        await until(lambda: len(looks) == 2)
        assert attached.lost == 1
        await attached.link.close()

    asyncio.run(story())


def test_the_death_of_a_wait_is_not_taken_for_its_end() -> None:
    """`first_of` raises it."""

    async def dies() -> None:
        raise RecursionError("torn")

    async def story() -> None:
        with pytest.raises(RecursionError, match="torn"):
            await first_of(dies(), asyncio.sleep(600))

    asyncio.run(story())
