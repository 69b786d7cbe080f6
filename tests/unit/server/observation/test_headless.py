"""How a headless agent is told: from its gateway, from here, and when its gateway is of no use."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from posthouse.clients.connections import HttpResponse
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts.managed_agent_files import RecordedStatus, TurnRecord
from posthouse.server.gateways import GatewayLost, Gateways, LiveGateway, NoLiveGateway
from posthouse.server.member import Member
from posthouse.server.observation.context import ContextLoader
from posthouse.server.observation.states import AgentStates
from posthouse.server.observation.tui_observers import TuiObservers
from posthouse.sessions.session import Session
from posthouse.testing.members import member_of

AT = "2026-11-15T10:00:00+00:00"
STATUS = (
    '{"schema_version":1,"protocol_version":"v1","attach_identity":"s","backend":"claude_headless",'
    '"tmux_session_name":"s","gateway_health":"healthy","managed_agent_connectivity":"connected",'
    '"managed_agent_recovery":"idle","request_admission":"open","terminal_surface_eligibility":"ready",'
    '"active_execution":"idle","queue_depth":0,"gateway_host":"127.0.0.1","gateway_port":4242,'
    '"managed_agent_instance_epoch":1}'
)
CONTROL = (
    '{"schema_version":1,"runtime_resumable":true,"tmux_session_live":true,"can_accept_prompt_now":true,'
    '"interruptible":false,"chat_session":{"current":{"id":"c1"},"startup_default":{"mode":"new","id":null},'
    '"next_prompt_override":{"mode":"new"}},"request_admission":"open","active_execution":"idle",'
    '"queue_depth":0,"active_turn_id":null}'
)


@dataclass
class FakeGateway:
    """Answers as it is told; what is an error is raised."""

    status: str | Exception = STATUS
    control: str | Exception = CONTROL

    async def request(self, _method: str, path: str, **_: Any) -> HttpResponse:
        said = self.status if path == "/v1/status" else self.control
        if isinstance(said, Exception):
            raise said
        return HttpResponse(status=200, headers=(), body=said.encode())

    def __str__(self) -> str:
        return "the gateway"


@dataclass
class FakeGateways:
    gateway: FakeGateway | None

    async def require(self, _: Member) -> LiveGateway:
        if self.gateway is None:
            raise NoLiveGateway("there is none")
        return cast(LiveGateway, self.gateway)


@dataclass
class FakeTurns:
    records: list[TurnRecord] = field(default_factory=list)

    async def active(self, _: Member) -> TurnRecord | None:
        return next((one for one in self.records if not one.is_final), None)

    async def last(self, _: Member) -> TurnRecord | None:
        return next((one for one in self.records if one.is_final), None)

    async def history(self, _: Member, limit: int) -> list[TurnRecord]:
        return self.records[:limit]


@pytest.fixture
def member(made_session: Session) -> Member:
    return member_of(made_session, backend="claude_headless", gateway_port=1)


def states(gateway: FakeGateway | None, *records: TurnRecord, is_live: bool = True) -> AgentStates:
    gateways = cast(Gateways, FakeGateways(gateway))
    backgrounds = ContextLoader(gateways, is_live=lambda _: is_live)
    return AgentStates(backgrounds, FakeTurns(list(records)), TuiObservers())


def detail_of(asked: AgentStates, member: Member) -> tuple[wire.Summary, wire.HeadlessDetail]:
    found = asyncio.run(asked.detail(member))
    assert isinstance(found.detail, wire.HeadlessDetail)
    return found.summary_state, found.detail


def turn(index: int, status: RecordedStatus, **more: Any) -> TurnRecord:
    return TurnRecord(
        tracked_agent_id="gpu-id",
        turn_id=f"turn-{index}",
        turn_index=index,
        turn_artifact_dir="/t",
        started_at_utc=AT,
        tmux_session_name="s",
        status=status,
        completed_at_utc=None if status == "active" else AT,
        **more,
    )


def test_a_gateway_tells_which_conversation_comes_next(member: Member) -> None:
    """What only it knows is taken from it; without it the manifest tells the rest."""
    summary, detail = detail_of(states(FakeGateway()), member)
    _, alone = detail_of(states(None), member)

    assert summary.gateway is not None
    assert (summary.gateway.gateway_health, summary.gateway.gateway_port) == ("healthy", 4242)
    assert detail.chat_session is not None
    assert detail.chat_session.model_dump() == {
        "current": {"id": "c1"},
        "startup_default": {"mode": "new", "id": None},
        "next_prompt_override": {"mode": "new"},
    }
    assert alone.chat_session is not None
    assert (alone.chat_session.current, alone.chat_session.next_prompt_override) == (None, None)


@pytest.mark.parametrize(
    ("gateway", "said"),
    [
        pytest.param(
            FakeGateway(status=GatewayLost("…")),
            "the gateway does not answer /v1/status; start it again with",
            id="it hangs",
        ),
        pytest.param(
            FakeGateway(control=GatewayLost("…")),
            "the gateway does not answer /v1/control/headless/state; start it again with",
            id="it dies between two questions",
        ),
        pytest.param(
            FakeGateway(status=STATUS.replace('"queue_depth"', '"depth"')),
            "the gateway answers /v1/status in the shape of another version (queue_depth: Field required); "
            "start it again with",
            id="it is older",
        ),
        pytest.param(
            FakeGateway(control=CONTROL.replace("{", '{"new_field":1,', 1)),
            "answers /v1/control/headless/state in the shape of another version (new_field:",
            id="it is newer",
        ),
        pytest.param(FakeGateway(status="<html>"), "in the shape of another version", id="it is no gateway"),
    ],
)
def test_a_gateway_of_no_use_is_named_and_done_without(
    member: Member, gateway: FakeGateway, said: str
) -> None:
    """The state is told from here, and the diagnostics say why and what to do."""
    summary, detail = detail_of(states(gateway), member)

    assert (summary.availability, summary.turn.phase) == ("available", "ready")
    assert [problem.kind for problem in summary.diagnostics] == ["gateway_unusable"]
    assert said in summary.diagnostics[0].message
    assert detail.diagnostics == summary.diagnostics
    assert detail.can_accept_prompt_now


@pytest.mark.parametrize(
    ("status", "result"),
    [("completed", "success"), ("interrupted", "interrupted"), ("failed", "known_failure")],
)
def test_how_the_last_turn_ended_is_told_in_the_contracts_words(
    member: Member, status: RecordedStatus, result: str
) -> None:
    """The detail repeats the record; the history has a line of it."""
    last = turn(1, status, returncode=0, history_summary="it\nsaid  this " + "x" * 500)
    asked = states(None, turn(2, "active", interrupt_requested_at_utc=AT), last)
    summary, detail = detail_of(asked, member)
    history = asyncio.run(asked.history(member, 100))

    assert summary.turn.model_dump() == {"phase": "active", "active_turn_id": "turn-2"}
    assert summary.last_turn.model_dump() == {
        "result": result,
        "turn_id": "turn-1",
        "turn_index": 1,
        "updated_at_utc": AT,
    }
    assert (detail.last_turn_status, detail.last_turn_returncode) == (status, 0)
    assert detail.active_turn_interrupt_requested_at_utc == AT
    assert (detail.can_accept_prompt_now, detail.interruptible) == (False, True)
    assert [(one.turn_id, one.turn_phase, one.last_turn_result) for one in history.entries] == [
        ("turn-2", "active", "none"),
        ("turn-1", "ready", result),
    ]
    assert history.entries[1].summary.startswith(f"turn 1 {status}: it said this xxx")
    assert len(history.entries[1].summary) < 250


def test_an_agent_that_is_gone_says_what_is_missing(member: Member) -> None:
    """Its tmux session, its manifest, or both, each under the contract's kind."""
    gone, _ = detail_of(states(None, is_live=False), member)
    Path(member.record.runtime.manifest_path).write_text("{}")
    broken, detail = detail_of(states(None, is_live=False), member)

    def kinds(summary: wire.Summary) -> list[str]:
        return [problem.kind for problem in summary.diagnostics if problem.kind != "gateway_unusable"]

    assert (gone.availability, gone.turn.phase, kinds(gone)) == (
        "unavailable",
        "unknown",
        ["tmux_session_missing"],
    )
    assert kinds(broken) == ["runtime_resume_unavailable", "tmux_session_missing"]
    assert (detail.runtime_resumable, detail.tmux_session_live, detail.chat_session) == (False, False, None)


def test_an_agent_without_a_gateway_has_no_trouble_with_it(made_session: Session) -> None:
    """Only one that was attached and does not answer is a problem."""
    summary, _ = detail_of(states(None), member_of(made_session, backend="claude_headless"))

    assert summary.diagnostics == ()
    assert summary.gateway is not None
    assert summary.gateway.gateway_health == "not_attached"
