"""A gateway whose agent has a mailbox in memory, for the tests of mail."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import manifest as m
from posthouse.gateway.http import app
from posthouse.gateway.service import Gateway
from posthouse.gateway.status import Binding
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.testing import running_gateways
from posthouse.testing.fake_mailbox import BINDING, FakeMailbox
from posthouse.testing.gateway import Answer, FakeAgent, call


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One gateway and everything around it."""

    gateway: Gateway
    agent: FakeAgent
    mailbox: FakeMailbox
    session: Session

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        token = None if self.gateway.status().gateway_host == "127.0.0.1" else b"token"
        return await call(app.build(self.gateway, token), method, path, body)


Opened = Callable[..., AbstractAsyncContextManager[House]]


def opener(folder: Path) -> Opened:
    """Opens a gateway with a mailbox; without one, or on another host, as asked. Again: the same gateway."""
    made = running_gateways.session_in(folder)

    @asynccontextmanager
    async def opened(
        *,
        bound: m.Mailbox | None = BINDING,
        host: gf.Host = "127.0.0.1",
        is_headless: bool = True,
        mailbox: FakeMailbox | None = None,
    ) -> AsyncIterator[House]:
        session = sessions.update(
            made,
            lambda manifest: structs.replace(
                manifest, launch_plan=structs.replace(manifest.launch_plan, mailbox=bound)
            ),
        )
        agent, there = FakeAgent(is_headless=is_headless), mailbox or FakeMailbox()
        agent.appear()
        binding = Binding(host=host, port=43123)
        async with running_gateways.opened(session, agent, binding, there) as gateway:
            yield House(gateway=gateway, agent=agent, mailbox=there, session=session)

    return opened
