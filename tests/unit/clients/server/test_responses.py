"""What the client reads is what the server writes."""

import msgspec
import pytest
from pydantic import BaseModel

from posthouse.clients.server import responses
from posthouse.contracts import gateway_tui_http
from posthouse.contracts import managed_agents_http as wire

PAIRS = [
    (responses.Instance, wire.ServerInstance),
    (responses.Done, wire.Done),
    (responses.Identity, wire.Identity),
    (responses.AgentList, wire.AgentList),
    (responses.TurnPosture, wire.TurnPosture),
    (responses.LastTurn, wire.LastTurn),
    (responses.Problem, gateway_tui_http.Problem),
    (responses.MailboxPosture, wire.MailboxPosture),
    (responses.GatewayPosture, wire.GatewayPosture),
    (responses.Summary, wire.Summary),
    (responses.TuiDetail, wire.TuiDetail),
    (responses.HeadlessDetail, wire.HeadlessDetail),
    (responses.Detail, wire.Detail),
    (responses.HistoryEntry, wire.HistoryEntry),
    (responses.History, wire.History),
    (responses.ManagedAccepted, wire.ManagedAccepted),
    (responses.ActionDone, wire.ActionDone),
    (responses.Launched, wire.Launched),
    (responses.TurnAccepted, wire.TurnAccepted),
    (responses.TurnReport, wire.TurnReport),
    (responses.TurnEvent, wire.TurnEvent),
    (responses.TurnEvents, wire.TurnEvents),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: str(kind.__name__))
def test_an_answer_has_the_fields_of_the_contract(
    ours: type[msgspec.Struct], theirs: type[BaseModel]
) -> None:
    """Field by field; the transport of a detail is its tag."""
    tag = {"transport"} if ours in (responses.TuiDetail, responses.HeadlessDetail) else set()

    assert set(ours.__struct_fields__) | tag == set(theirs.model_fields)
