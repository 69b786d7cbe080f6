"""Commands through the coordination server: `--port N`, and `--pair-port N` below `gateway`."""

from typing import Any

import msgspec

from posthouse.cli import gateway_text, humanize, tui_state_view
from posthouse.cli.context import Call
from posthouse.cli.output import Cell, fields
from posthouse.cli.overview_server import tui_state
from posthouse.clients.server import responses
from posthouse.support import clock


def listing(call: Call) -> int:
    """List the server's agents."""
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
    call.output.table(to_json(found), headings, rows, empty="the server has no such agents")
    return 0


def state(call: Call) -> int:
    """Show the agent's state from the server."""
    server = call.server()
    summary = server.state(call.selection.value)
    tui = tui_state(server, summary)
    pairs = fields(_summary_fields(summary, tui))
    text = "\n".join([pairs, *tui_state_view.choices_of(tui or {})])
    call.output.result(to_json(summary) | {"tui": tui}, text)
    return 0


def interrupt(call: Call) -> int:
    """Interrupt the agent; nothing running is not an error."""
    accepted = call.server().interrupt(call.selection.value)
    call.output.result(to_json(accepted), accepted.detail)
    return 0


def stop(call: Call) -> int:
    """Let the server stop the agent and its gateway."""
    done = call.server().stop(call.selection.value)
    call.output.result(to_json(done), done.detail)
    return 0


def gateway_attach(call: Call) -> int:
    """Forward the request; the server refuses it, as only the agent's own machine can do it."""
    value = call.server().gateway(call.selection.value).attach()
    call.output.result(value, str(value))
    return 0


def gateway_detach(call: Call) -> int:
    """Forward the request; the server refuses it, as only the agent's own machine can do it."""
    value = call.server().gateway(call.selection.value).detach()
    call.output.result(value, str(value))
    return 0


def gateway_status(call: Call) -> int:
    """Show the status of the agent's gateway, or the offline status."""
    value = call.server().gateway(call.selection.value).status()
    call.output.result(value, fields(gateway_text.status_fields(value)))
    return 0


def to_json(answer: responses.ServerResponse) -> dict[str, Any]:
    """A response as JSON-ready builtins."""
    value: dict[str, Any] = msgspec.to_builtins(answer)
    return value


def _summary_fields(summary: responses.Summary, tui: dict[str, Any] | None) -> list[tuple[str, str]]:
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
    if tui is not None:
        detail = f" ({tui['detail']})" if tui["detail"] else ""
        pairs.append(("TUI", f"{tui_state_view.describe(tui)}{detail}"))
    if gateway is not None and gateway.gateway_port is not None:
        address = f"http://{gateway.gateway_host}:{gateway.gateway_port}"
        text = f"{address} (admission {gateway.request_admission}, queue {gateway.queue_depth})"
        pairs.append(("gateway", text))
    if who.remote_pair_api_base_url is not None:
        pairs.append(("remote", f"{who.remote_agent_ref} at {who.remote_pair_api_base_url}"))
    pairs += [("note", one.message) for one in summary.diagnostics]
    return pairs
