"""`gateway host` and `gateway hosted`: the gateways of many agents in one process."""

import os
from pathlib import Path
from typing import NoReturn

from posthouse.cli.context import Call
from posthouse.cli.output import Cell
from posthouse.contracts import gateway_host as gh
from posthouse.contracts import names

_HEADINGS = ("agent", "state", "gateway", "problem")


def host(call: Call) -> NoReturn:
    """Run the host of the runtime root until Ctrl-C. It is restarted when it dies."""
    from posthouse.gateway_lifecycle import host_client
    from posthouse.gateway_lifecycle.process import inherited

    call.notice(f"hosting the gateways of {call.wiring.roots.runtime}; Ctrl-C stops them")
    argv = host_client.command(call.wiring.roots.runtime)
    os.execve(argv[0], argv, inherited(call.wiring.environment))


def hosted(call: Call) -> int:
    """Show the host and its gateways."""
    from posthouse.gateway_lifecycle import host_client

    answer = host_client.listing(call.wiring.roots.runtime)
    gateways = () if answer is None else answer.gateways
    call.output.table(
        {"pid": None if answer is None else answer.pid, "gateways": [_listed(one) for one in gateways]},
        _HEADINGS,
        [_row(one) for one in gateways],
        empty="there is no gateway host" if answer is None else "the gateway host serves no gateways yet",
    )
    return 0


def _listed(one: gh.HostedGatewayStatus) -> dict[str, object]:
    return {
        "agent_name": _agent(one),
        "gateway_root": one.gateway_root,
        "state": one.state,
        "gateway_port": one.port,
        "problem": one.problem,
    }


def _row(one: gh.HostedGatewayStatus) -> list[Cell]:
    return [
        Cell(_agent(one), "strong"),
        Cell(one.state, "good" if one.state == "serving" else "bad" if one.state == "failed" else "busy"),
        Cell("-" if one.port is None else f"port {one.port}"),
        Cell(one.problem or ""),
    ]


def _agent(one: gh.HostedGatewayStatus) -> str:
    """The agent's name, or the folder's name if the manifest can't be read."""
    from posthouse.errors import PosthouseError
    from posthouse.sessions import session as sessions

    root = Path(one.gateway_root).parent
    try:
        return sessions.read(root / names.MANIFEST_FILE).agent_name
    except PosthouseError:
        return root.name
