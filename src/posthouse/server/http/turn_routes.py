"""The routes of headless turns."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Literal

from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response, StreamingResponse

from posthouse.contracts import managed_agent_files as mf
from posthouse.contracts import managed_agents_http as wire
from posthouse.contracts import names
from posthouse.contracts.gateway_http import TurnId
from posthouse.errors import InvalidInput
from posthouse.server.http.common import AGENT, FINDING
from posthouse.server.service import Coordination
from posthouse.server.turns import artifacts
from posthouse.server.turns.follower import GATEWAY_REQUEST
from posthouse.web.file_response import RANGE_HEADERS, file_answer, in_batches
from posthouse.web.route import Addressed, Route

_TURN = f"{AGENT}/turns/{{turn_id}}"
_TURN_ID: TypeAdapter[str] = TypeAdapter(TurnId)
_OUTPUT = {"type": "string", "description": "What the provider's program wrote, byte for byte."}
_NO_TURN = {404: "No agent, or none of its turns, answers to that name."}
_PART = {206: "The part that was asked for."}
_RANGES = {"accept-ranges": "Always `bytes`.", "content-range": "Which part it is, when one was asked for."}


class BadTurnId(InvalidInput):
    """The id can't name a turn."""

    code = "bad_turn_id"


async def submit_turn(server: Coordination, asked: Addressed) -> wire.TurnAccepted:
    order: wire.TurnOrder = asked.body
    record = await server.turns.submit(
        server.member(asked.names["agent_ref"]),
        order.prompt,
        chat_session=order.chat_session,
        execution=order.execution,
        turn_id=_given_id(asked.headers),
    )
    return wire.TurnAccepted(
        tracked_agent_id=record.tracked_agent_id,
        turn_id=record.turn_id,
        turn_index=record.turn_index,
        status=record.status,
        detail=_posture(record),
    )


def _posture(record: mf.TurnRecord) -> str:
    if record.error:
        return f"the turn is over: {record.error}"
    if GATEWAY_REQUEST in record.diagnostics:
        return "the agent's gateway has accepted the turn"
    return "the turn has started"


async def get_turn(server: Coordination, asked: Addressed) -> wire.TurnReport:
    record = await _record(server, asked)
    return wire.TurnReport(**{name: getattr(record, name) for name in wire.TurnReport.model_fields})


async def get_events(server: Coordination, asked: Addressed) -> Response:
    return StreamingResponse(_told(await _record(server, asked)), media_type="application/json")


async def get_stdout(server: Coordination, asked: Addressed) -> Response:
    return await _artifact(server, asked, "stdout")


async def get_stderr(server: Coordination, asked: Addressed) -> Response:
    return await _artifact(server, asked, "stderr")


async def interrupt(server: Coordination, asked: Addressed) -> wire.ActionDone:
    member = server.member(asked.names["agent_ref"])
    record = await server.turns.interrupt(member)
    return wire.ActionDone(
        tracked_agent_id=member.tracked_agent_id,
        detail="no turn is active" if record is None else f"turn {record.turn_id} was asked to end",
        turn_id=None if record is None else record.turn_id,
        manifest_path=member.record.runtime.manifest_path,
        session_root=member.record.runtime.session_root,
    )


async def _record(server: Coordination, asked: Addressed) -> mf.TurnRecord:
    return await server.turns.find(server.member(asked.names["agent_ref"]), asked.names["turn_id"])


async def _artifact(server: Coordination, asked: Addressed, which: Literal["stdout", "stderr"]) -> Response:
    turn = artifacts.turn_of(await _record(server, asked))
    return await file_answer(turn.stdout_path if which == "stdout" else turn.stderr_path, asked.headers)


async def _told(record: mf.TurnRecord) -> AsyncIterator[bytes]:
    """The events of a turn in the shape of `TurnEvents`, as they are read: there may be very many."""
    whole = wire.TurnEvents(tracked_agent_id=record.tracked_agent_id, turn_id=record.turn_id, entries=())
    yield whole.model_dump_json().removesuffix("]}").encode()
    separator = b""
    async for batch in in_batches(_entries(record)):
        yield separator + b",".join(batch)
        separator = b","
    yield b"]}"


def _entries(record: mf.TurnRecord) -> Iterator[bytes]:
    if artifacts.is_ordered(record):
        for event in artifacts.turn_of(record).events():
            yield wire.TurnEvent(**event.public("detail")).model_dump_json().encode()


def _given_id(headers: Mapping[str, str]) -> str | None:
    given = headers.get(names.TURN_ID_HEADER)
    try:
        return None if given is None else _TURN_ID.validate_python(given)
    except ValidationError as error:
        raise BadTurnId(f"{names.TURN_ID_HEADER} has 1 to 128 letters, digits, `_` and `-`") from error


ROUTES = (
    Route(
        method="POST",
        path=f"{AGENT}/turns",
        summary="Have a headless agent take one turn. It is recorded, then started.",
        handler=submit_turn,
        request=TypeAdapter(wire.TurnOrder),
        headers={names.TURN_ID_HEADER: "The turn's id; asked again with it, the turn is not started again."},
        response=wire.TurnAccepted,
        refusals={
            404: "No agent answers to that name.",
            409: "A turn is active, no conversation is current, or the name is ambiguous.",
            503: "The agent does not run, or its program did not start.",
        },
    ),
    Route(
        method="GET",
        path=_TURN,
        summary="What became of a turn.",
        handler=get_turn,
        response=wire.TurnReport,
        refusals={**FINDING, **_NO_TURN},
    ),
    Route(
        method="GET",
        path=f"{_TURN}/events",
        summary="What happened in a turn, in one vocabulary for all providers.",
        handler=get_events,
        response=wire.TurnEvents,
        refusals={**FINDING, **_NO_TURN},
    ),
    Route(
        method="GET",
        path=f"{_TURN}/artifacts/stdout",
        summary="What the provider's program wrote; ranges are served.",
        handler=get_stdout,
        response=None,
        media_type="text/plain",
        schema=_OUTPUT,
        headers=RANGE_HEADERS,
        gives=_RANGES,
        also=_PART,
        refusals={**FINDING, **_NO_TURN, 416: "The turn has not written so much."},
    ),
    Route(
        method="GET",
        path=f"{_TURN}/artifacts/stderr",
        summary="What the provider's program complained of; ranges are served.",
        handler=get_stderr,
        response=None,
        media_type="text/plain",
        schema=_OUTPUT,
        headers=RANGE_HEADERS,
        gives=_RANGES,
        also=_PART,
        refusals={**FINDING, **_NO_TURN, 416: "The turn has not written so much."},
    ),
    Route(
        method="POST",
        path=f"{AGENT}/interrupt",
        summary="Interrupt the turn of a headless agent, if one is active.",
        handler=interrupt,
        response=wire.ActionDone,
        refusals={**FINDING, 422: "The agent is a TUI."},
    ),
)
