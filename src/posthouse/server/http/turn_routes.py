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
from posthouse.server.service import ServerService
from posthouse.server.turns import artifacts
from posthouse.server.turns.follower import GATEWAY_REQUEST
from posthouse.web.file_response import RANGE_HEADERS, file_response, in_batches
from posthouse.web.route import Route, RouteInput

_TURN = f"{AGENT}/turns/{{turn_id}}"
_TURN_ID: TypeAdapter[str] = TypeAdapter(TurnId)
_OUTPUT = {"type": "string", "description": "The output of the provider's program, byte for byte."}
_NO_TURN = {404: "The agent or the turn does not exist."}
_PART = {206: "The requested range."}
_RANGES = {"accept-ranges": "Always `bytes`.", "content-range": "The returned range, if one was requested."}


async def submit_turn(server: ServerService, inputs: RouteInput) -> wire.TurnAccepted:
    order: wire.TurnRequest = inputs.body
    record = await server.turns.submit(
        server.member(inputs.path_params["agent_ref"]),
        order.prompt,
        chat_session=order.chat_session,
        execution=order.execution,
        turn_id=_given_id(inputs.headers),
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
        return f"the turn has ended: {record.error}"
    if GATEWAY_REQUEST in record.diagnostics:
        return "the agent's gateway has accepted the turn"
    return "the turn has started"


async def get_turn(server: ServerService, inputs: RouteInput) -> wire.TurnReport:
    record = await _record(server, inputs)
    return wire.TurnReport(**{name: getattr(record, name) for name in wire.TurnReport.model_fields})


async def get_events(server: ServerService, inputs: RouteInput) -> Response:
    return StreamingResponse(_stream_events(await _record(server, inputs)), media_type="application/json")


async def get_stdout(server: ServerService, inputs: RouteInput) -> Response:
    return await _artifact(server, inputs, "stdout")


async def get_stderr(server: ServerService, inputs: RouteInput) -> Response:
    return await _artifact(server, inputs, "stderr")


async def interrupt(server: ServerService, inputs: RouteInput) -> wire.ActionDone:
    member = server.member(inputs.path_params["agent_ref"])
    record = await server.turns.interrupt(member)
    return wire.ActionDone(
        tracked_agent_id=member.tracked_agent_id,
        detail="no turn is active" if record is None else f"interrupting turn {record.turn_id}",
        turn_id=None if record is None else record.turn_id,
        manifest_path=member.record.runtime.manifest_path,
        session_root=member.record.runtime.session_root,
    )


async def _record(server: ServerService, inputs: RouteInput) -> mf.TurnRecord:
    return await server.turns.find(
        server.member(inputs.path_params["agent_ref"]), inputs.path_params["turn_id"]
    )


async def _artifact(
    server: ServerService, inputs: RouteInput, which: Literal["stdout", "stderr"]
) -> Response:
    turn = artifacts.turn_of(await _record(server, inputs))
    return await file_response(turn.stdout_path if which == "stdout" else turn.stderr_path, inputs.headers)


async def _stream_events(record: mf.TurnRecord) -> AsyncIterator[bytes]:
    """Stream the events of a turn as a `TurnEvents` object, because there may be very many."""
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
        message = f"{names.TURN_ID_HEADER} must have 1 to 128 letters, digits, `_` and `-`"
        raise InvalidInput(message, code="bad_turn_id") from error


ROUTES = (
    Route(
        method="POST",
        path=f"{AGENT}/turns",
        summary="Start one turn of a headless agent. It is recorded before it starts.",
        handler=submit_turn,
        request=TypeAdapter(wire.TurnRequest),
        headers={
            names.TURN_ID_HEADER: "The turn's id, an idempotency key: a repeat does not start the turn again."
        },
        response=wire.TurnAccepted,
        refusals={
            404: "No agent has that name.",
            409: "A turn is active, there is no current conversation, or the name is ambiguous.",
            503: "The agent does not run, or its program did not start.",
        },
    ),
    Route(
        method="GET",
        path=_TURN,
        summary="The status and the outcome of a turn.",
        handler=get_turn,
        response=wire.TurnReport,
        refusals={**FINDING, **_NO_TURN},
    ),
    Route(
        method="GET",
        path=f"{_TURN}/events",
        summary="The events of a turn, in one vocabulary for all providers.",
        handler=get_events,
        response=wire.TurnEvents,
        refusals={**FINDING, **_NO_TURN},
    ),
    Route(
        method="GET",
        path=f"{_TURN}/artifacts/stdout",
        summary="Standard output of the provider's program; supports ranges.",
        handler=get_stdout,
        response=None,
        media_type="text/plain",
        schema=_OUTPUT,
        headers=RANGE_HEADERS,
        response_headers=_RANGES,
        other_successes=_PART,
        refusals={**FINDING, **_NO_TURN, 416: "The range is beyond the end of the output."},
    ),
    Route(
        method="GET",
        path=f"{_TURN}/artifacts/stderr",
        summary="Standard error of the provider's program; supports ranges.",
        handler=get_stderr,
        response=None,
        media_type="text/plain",
        schema=_OUTPUT,
        headers=RANGE_HEADERS,
        response_headers=_RANGES,
        other_successes=_PART,
        refusals={**FINDING, **_NO_TURN, 416: "The range is beyond the end of the output."},
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
