"""Commands that ask the coordination server: `--port N`, and `--pair-port N` below `gateway`."""

from typing import Any

import msgspec

from posthouse.cli import gateway_text, humanize, tui_state_view
from posthouse.cli.context import Call
from posthouse.cli.output import Cell, fields
from posthouse.cli.overview_server import believed
from posthouse.clients.server import responses
from posthouse.support import clock


def listing(call: Call) -> int:
    """Show the agents that the server knows."""
    wanted = call.arguments.state
    state = None if wanted in (None, "all") else wanted
    found = call.server().agents(include=None if wanted is None else "all", state=state)
    rows = [
        [
            Cell(one.agent_name or one.tracked_agent_id, "strong"),
            Cell(one.tool),
            Cell(one.transport),
            Cell(one.lifecycle_state or "-"),
            Cell(one.tmux_session_name or one.remote_pair_api_base_url or "-"),
            Cell(one.tracked_agent_id, "faint"),
        ]
        for one in found.agents
    ]
    headings = ("name", "tool", "kind", "state", "where", "id")
    call.output.table(built(found), headings, rows, empty="the server knows no such agents")
    return 0


def state(call: Call) -> int:
    """Show what the server says of the agent."""
    server = call.server()
    summary = server.state(call.selection.value)
    belief = believed(server, summary)
    pairs = fields(_told(summary, belief))
    told = "\n".join([pairs, *tui_state_view.choices_of(belief or {})])
    call.output.result(built(summary) | {"tui": belief}, told)
    return 0


def interrupt(call: Call) -> int:
    """Interrupt what the agent does; nothing running is not an error."""
    accepted = call.server().interrupt(call.selection.value)
    call.output.result(built(accepted), accepted.detail)
    return 0


def stop(call: Call) -> int:
    """Let the server end the agent and its gateway."""
    done = call.server().stop(call.selection.value)
    call.output.result(built(done), done.detail)
    return 0


def gateway_attach(call: Call) -> int:
    """Ask for what only the agent's own machine does; the server says so."""
    value = call.server().gateway(call.selection.value).attach()
    call.output.result(value, str(value))
    return 0


def gateway_detach(call: Call) -> int:
    """Ask for what only the agent's own machine does; the server says so."""
    value = call.server().gateway(call.selection.value).detach()
    call.output.result(value, str(value))
    return 0


def gateway_status(call: Call) -> int:
    """Show the status of the agent's gateway, or the one of having none."""
    value = call.server().gateway(call.selection.value).status()
    call.output.result(value, fields(gateway_text.status_told(value)))
    return 0


def built(answer: responses.Answer) -> dict[str, Any]:
    """An answer as JSON-ready builtins."""
    value: dict[str, Any] = msgspec.to_builtins(answer)
    return value


def _told(summary: responses.Summary, belief: dict[str, Any] | None) -> list[tuple[str, str]]:
    who, last, gateway = summary.identity, summary.last_turn, summary.gateway
    name = who.agent_name or who.tracked_agent_id
    pairs = [
        ("agent", f"{name} ({who.tool}, {who.transport}, id {summary.tracked_agent_id})"),
        ("availability", summary.availability),
        ("turn", summary.turn.phase),
    ]
    if last.result != "none":
        at = last.updated_at_utc
        when = f", {humanize.ago(clock.parse(at), clock.now())}" if at else ""
        pairs.append(("last turn", f"{last.result}{when}"))
    if belief is not None:
        detail = f" ({belief['detail']})" if belief["detail"] else ""
        pairs.append(("TUI", f"{tui_state_view.in_words(belief)}{detail}"))
    if gateway is not None and gateway.gateway_port is not None:
        address = f"http://{gateway.gateway_host}:{gateway.gateway_port}"
        told = f"{address} (admission {gateway.request_admission}, queue {gateway.queue_depth})"
        pairs.append(("gateway", told))
    if who.remote_pair_api_base_url is not None:
        pairs.append(("remote", f"{who.remote_agent_ref} at {who.remote_pair_api_base_url}"))
    pairs += [("note", one.message) for one in summary.diagnostics]
    return pairs
