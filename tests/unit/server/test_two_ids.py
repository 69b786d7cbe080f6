"""An agent that its server keeps under another id than the registry does."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from posthouse.contracts import managed_agents_http as wire
from posthouse.errors import NotFound, Unavailable
from posthouse.server.agent_index import UnknownAgent
from posthouse.server.mail import MailResolver
from posthouse.server.member import Member
from posthouse.server.requests.service import RequestService
from posthouse.server.stop_agent import AgentStopper
from posthouse.sessions.session import Session
from posthouse.testing.members import member_of

STOPPED = SimpleNamespace(record=SimpleNamespace(lifecycle=SimpleNamespace(state="stopped")))


@pytest.fixture
def member(made_session: Session) -> Member:
    return replace(member_of(made_session, backend="claude_headless"), managed_ref="0123456789ab")


class Registered:
    """Knows a stopped agent by the id of its record."""

    def find(self, *, agent_id: str) -> Any:
        if agent_id != "gpu-id":
            raise NotFound(agent_id)
        return STOPPED


class NoTurns:
    async def active(self, _: Member) -> None:
        return None


def unknown(ref: str) -> Member:
    raise UnknownAgent(ref)


def test_it_is_stopped_by_the_id_of_its_record(member: Member) -> None:
    """The answer has the server's own."""
    eyes = SimpleNamespace(forget=lambda _: None)
    stops = AgentStopper(cast(Any, Registered()), NoTurns(), cast(Any, eyes), find=unknown)

    done = asyncio.run(stops.stop(member))

    assert (done.tracked_agent_id, done.detail) == ("0123456789ab", "gpu was already stopped")


def test_the_advice_to_relaunch_it_works(member: Member) -> None:
    """The command line knows the registry's id alone."""
    requests = RequestService(
        cast(Any, None), cast(Any, None), is_live=lambda _: False, on_request=lambda _: None
    )

    with pytest.raises(Unavailable, match=r"`posthouse agents single --agent-id gpu-id relaunch`"):
        asyncio.run(requests.submit(member, wire.Interrupt(request_kind="interrupt")))


def test_the_advice_to_give_it_a_mailbox_works(member: Member) -> None:
    """Here too."""
    with pytest.raises(Unavailable, match=r"`posthouse agents single --agent-id gpu-id mailbox register`"):
        asyncio.run(MailResolver(cast(Any, None)).require(member))
