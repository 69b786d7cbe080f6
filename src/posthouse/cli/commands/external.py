"""`agents external …`: agents of other machines, known here by a name and talked to through their server."""

from pathlib import Path
from typing import Any

import msgspec

from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, fields
from posthouse.clients.server import CoordinationClient, responses
from posthouse.contracts import external_agents, strict
from posthouse.contracts.external_agents import ExternalRecord
from posthouse.contracts.identity import user_name
from posthouse.errors import Conflict
from posthouse.sessions.externals import Externals
from posthouse.support import clock, ids

_MAX_TOKEN_BYTES = 4096


class Chained(Conflict):
    """The agent is external to that server too; nothing was written."""

    code = "external_chain"


def register_arguments(parser: Parser) -> None:
    parser.add_argument("--name", required=True, help="what to call it here")
    parser.add_argument(
        "--api-base-url", required=True, metavar="URL", help="its server, such as http://host:9891"
    )
    parser.add_argument("--agent-ref", required=True, metavar="REF", help="its name or id over there")
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="what that server wants to see; it is copied, 0600"
    )


def register(call: Call) -> int:
    """Ask the other server who the agent is, and remember both."""
    arguments = call.arguments
    token = _token(call)
    client = CoordinationClient(arguments.api_base_url, token=token)
    who = _asked(client, arguments.agent_ref)
    moment = clock.iso_seconds(clock.now())
    record = ExternalRecord(
        local_name=user_name(arguments.name),
        external_agent_id=external_agents.new_id(ids.hex_id(32)),
        generation_id=ids.generation(),
        pair_api_base_url=client.address.url,
        remote_agent_ref=arguments.agent_ref,
        created_at_utc=moment,
        updated_at_utc=moment,
        verified_at_utc=moment,
        cached_identity=msgspec.to_builtins(who),
    )
    _externals(call).register(record, token)
    return _show(call, record)


def listing(call: Call) -> int:
    """Show every external agent, and the records that can't be used."""
    entries = _externals(call).entries()
    good = [entry.record for entry in entries if entry.record is not None]
    call.output.table(
        {"external_agents": [strict.plain(record) for record in good]},
        ("name", "remote agent", "server", "verified"),
        [
            [
                Cell(record.local_name, "strong"),
                Cell(record.remote_agent_ref),
                Cell(record.pair_api_base_url),
                Cell(record.verified_at_utc or "never"),
            ]
            for record in good
        ],
        empty="no external agents",
    )
    for entry in entries:
        if entry.problem is not None:
            call.complain(entry.problem)
    return 0


def _name_argument(parser: Parser) -> None:
    parser.add_argument("given", nargs="?", metavar="NAME", help="its name here, or its id")
    parser.add_argument("--name", help="the same")


get_arguments = _name_argument


def get(call: Call) -> int:
    """Show one external agent."""
    return _show(call, _named(call))


verify_arguments = _name_argument


def verify(call: Call) -> int:
    """Ask its server again who it is, and remember that."""
    record, externals = _named(call), _externals(call)
    client = CoordinationClient(record.pair_api_base_url, token=externals.token(record.external_agent_id))
    who = _asked(client, record.remote_agent_ref)
    moment = clock.iso_seconds(clock.now())
    verified = msgspec.structs.replace(
        record, cached_identity=msgspec.to_builtins(who), verified_at_utc=moment, updated_at_utc=moment
    )
    externals.change(verified)
    return _show(call, verified)


remove_arguments = _name_argument


def remove(call: Call) -> int:
    """Forget an external agent. It goes on where it is."""
    record = _named(call)
    _externals(call).remove(record.external_agent_id)
    value = {"external_agent_id": record.external_agent_id, "local_name": record.local_name, "removed": True}
    call.output.result(value, f"forgot {record.local_name}; it goes on at {record.pair_api_base_url}")
    return 0


def _asked(client: CoordinationClient, ref: str) -> responses.Identity:
    client.identify()
    who = client.agent(ref)
    if who.management_kind == external_agents.KIND:
        raise Chained(
            f"{ref!r} is external to {client.address.url} too: register it at "
            f"{who.remote_pair_api_base_url} as {who.remote_agent_ref!r}"
        )
    return who


def _token(call: Call) -> str | None:
    path: Path | None = call.arguments.token_file
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            token = file.read(_MAX_TOKEN_BYTES + 1).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} has no token: {error}") from error
    if not token or len(token) > _MAX_TOKEN_BYTES or not token.isprintable():
        raise UsageError(f"{path} has no token: one line of visible ASCII is wanted")
    return token


def _externals(call: Call) -> Externals:
    return Externals(call.wiring.roots.registry)


def _named(call: Call) -> ExternalRecord:
    names = {call.arguments.given, call.arguments.name} - {None}
    if len(names) != 1:
        raise UsageError("which external agent? give its NAME")
    return _externals(call).find(names.pop())


def _show(call: Call, record: ExternalRecord) -> int:
    value: dict[str, Any] = strict.plain(record)
    shown = ("local_name", "external_agent_id", "pair_api_base_url", "remote_agent_ref", "verified_at_utc")
    pairs = [(name, str(value[name])) for name in shown if value[name] is not None]
    tool = record.cached_identity.get("tool")
    call.output.result(value, fields([*pairs, ("tool", str(tool))]))
    return 0
