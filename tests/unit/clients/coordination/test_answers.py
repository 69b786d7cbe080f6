"""What the client reads is what the server writes."""

import msgspec
import pytest
from pydantic import BaseModel

from posthouse.clients.coordination import answers
from posthouse.contracts import gateway_tui_http
from posthouse.contracts import managed_agents_http as wire

PAIRS = [
    (answers.Instance, wire.ServerInstance),
    (answers.Done, wire.Done),
    (answers.Identity, wire.Identity),
    (answers.AgentList, wire.AgentList),
    (answers.TurnPosture, wire.TurnPosture),
    (answers.LastTurn, wire.LastTurn),
    (answers.Problem, gateway_tui_http.Problem),
    (answers.MailboxPosture, wire.MailboxPosture),
    (answers.GatewayPosture, wire.GatewayPosture),
    (answers.Summary, wire.Summary),
    (answers.TuiDetail, wire.TuiDetail),
    (answers.HeadlessDetail, wire.HeadlessDetail),
    (answers.Detail, wire.Detail),
    (answers.HistoryEntry, wire.HistoryEntry),
    (answers.History, wire.History),
    (answers.ManagedAccepted, wire.ManagedAccepted),
    (answers.ActionDone, wire.ActionDone),
    (answers.Launched, wire.Launched),
    (answers.TurnAccepted, wire.TurnAccepted),
    (answers.TurnReport, wire.TurnReport),
    (answers.TurnEvent, wire.TurnEvent),
    (answers.TurnEvents, wire.TurnEvents),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: str(kind.__name__))
def test_an_answer_has_the_fields_of_the_contract(
    ours: type[msgspec.Struct], theirs: type[BaseModel]
) -> None:
    """Field by field; the transport of a detail is its tag."""
    tag = {"transport"} if ours in (answers.TuiDetail, answers.HeadlessDetail) else set()

    assert set(ours.__struct_fields__) | tag == set(theirs.model_fields)
