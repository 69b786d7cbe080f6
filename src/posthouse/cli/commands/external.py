"""`agents external …`: agents of other machines, registered by name and reached through their server."""

from pathlib import Path
from typing import Any

import msgspec

from posthouse.cli.context import Call
from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell, fields
from posthouse.clients.server import ServerClient, responses
from posthouse.contracts import external_agents, strict
from posthouse.contracts.external_agents import ExternalRecord
from posthouse.contracts.identity import user_name
from posthouse.errors import Conflict
from posthouse.sessions.externals import ExternalAgents
from posthouse.support import clock, ids

_MAX_TOKEN_BYTES = 4096


def register_arguments(parser: Parser) -> None:
    parser.add_argument("--name", required=True, help="its name on this machine")
    parser.add_argument(
        "--api-base-url", required=True, metavar="URL", help="its server's URL, such as http://host:9891"
    )
    parser.add_argument("--agent-ref", required=True, metavar="REF", help="its name or id on that server")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="a file with the server's token; it is copied with mode 0600",
    )


def register(call: Call) -> int:
    """Fetch the agent's identity from its server and register both."""
    arguments = call.arguments
    token = _token(call)
    client = ServerClient(arguments.api_base_url, token=token)
    identity = _fetch_identity(client, arguments.agent_ref)
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
        cached_identity=msgspec.to_builtins(identity),
    )
    _externals(call).register(record, token)
    return _show(call, record)


def listing(call: Call) -> int:
    """List the external agents; unusable records go to stderr."""
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
            call.notice(entry.problem)
    return 0


def _name_argument(parser: Parser) -> None:
    parser.add_argument("given", nargs="?", metavar="NAME", help="its name on this machine, or its id")
    parser.add_argument("--name", help="alternative to NAME")


get_arguments = _name_argument


def get(call: Call) -> int:
    """Show one external agent."""
    return _show(call, _find(call))


verify_arguments = _name_argument


def verify(call: Call) -> int:
    """Refresh its identity from its server."""
    record, externals = _find(call), _externals(call)
    client = ServerClient(record.pair_api_base_url, token=externals.token(record.external_agent_id))
    identity = _fetch_identity(client, record.remote_agent_ref)
    moment = clock.iso_seconds(clock.now())
    verified = msgspec.structs.replace(
        record, cached_identity=msgspec.to_builtins(identity), verified_at_utc=moment, updated_at_utc=moment
    )
    externals.change(verified)
    return _show(call, verified)


remove_arguments = _name_argument


def remove(call: Call) -> int:
    """Remove an external agent from the registry. The agent keeps running."""
    record = _find(call)
    _externals(call).remove(record.external_agent_id)
    value = {"external_agent_id": record.external_agent_id, "local_name": record.local_name, "removed": True}
    call.output.result(value, f"removed {record.local_name}; it keeps running at {record.pair_api_base_url}")
    return 0


def _fetch_identity(client: ServerClient, ref: str) -> responses.Identity:
    client.identify()
    identity = client.agent(ref)
    if identity.management_kind == external_agents.KIND:
        raise Conflict(
            f"{ref!r} is external to {client.address.url} too: register it at "
            f"{identity.remote_pair_api_base_url} as {identity.remote_agent_ref!r}",
            code="external_chain",
        )
    return identity


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
        raise UsageError(f"invalid token in {path}: must be one line of visible ASCII")
    return token


def _externals(call: Call) -> ExternalAgents:
    return ExternalAgents(call.wiring.roots.registry)


def _find(call: Call) -> ExternalRecord:
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
