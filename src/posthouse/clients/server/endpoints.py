"""The endpoints of a coordination server: one function per route that builds its request.

*ref* is any name of an agent: id, agent name with or without its prefix, tmux session, session id.
"""

import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from posthouse.clients.server import responses
from posthouse.clients.server.endpoint import EndpointRequest, RawResponse, decode_as
from posthouse.clients.server.errors import ServerRefused, UnexpectedResponse
from posthouse.clients.wire_helpers import execution_override, without_none

#: The range of a turn's output that one response returns.
_RANGE_BYTES = 4 << 20
#: Extra timeout: the server waits for a TUI to become ready.
_READY_SECONDS = 30.0
_BEYOND_THE_END = 416
_PARTIAL = 206


def health() -> EndpointRequest[responses.Health]:
    return EndpointRequest(method="GET", path="/health", read=decode_as(responses.Health))


def service() -> EndpointRequest[str | None]:
    """The service name in the health response; None when it can't be decoded."""

    def read(raw: RawResponse) -> str | None:
        try:
            return decode_as(responses.Health)(raw).houmao_service
        except (ServerRefused, UnexpectedResponse):
            return None

    return EndpointRequest(method="GET", path="/health", read=read)


def ready() -> EndpointRequest[dict[str, Any]]:
    """Readiness; `ServerUnavailable` with the reason when the server is not ready."""
    return EndpointRequest(method="GET", path="/ready", read=RawResponse.value)


def metrics() -> EndpointRequest[bytes]:
    """Metrics in the Prometheus text format."""
    return EndpointRequest(method="GET", path="/metrics", read=RawResponse.bytes)


def current_instance() -> EndpointRequest[responses.Instance]:
    """The server process and its folder."""
    path = "/houmao/server/current-instance"
    return EndpointRequest(method="GET", path=path, read=decode_as(responses.Instance))


def shutdown() -> EndpointRequest[responses.Done]:
    """Shut down the server. Agents and their gateways continue."""
    return EndpointRequest(method="POST", path="/houmao/server/shutdown", read=decode_as(responses.Done))


def agents(
    *,
    include: Literal["live", "all"] | None = None,
    tool: Sequence[str] = (),
    transport: Literal["tui", "headless"] | None = None,
    state: str | None = None,
    name: str | None = None,
    has_gateway: bool | None = None,
) -> EndpointRequest[responses.AgentList]:
    """Running agents, sorted by name; `include="all"` adds stopped ones. *name* may have `*` and `?`."""
    query = without_none(
        {
            "include": include,
            "tool": ",".join(tool) or None,
            "transport": transport,
            "state": state,
            "name": name,
            "has_gateway": None if has_gateway is None else str(has_gateway).lower(),
        }
    )
    return EndpointRequest(
        method="GET", path="/houmao/agents", query=query, read=decode_as(responses.AgentList)
    )


def agent(ref: str) -> EndpointRequest[responses.Identity]:
    """The identity of an agent."""
    return EndpointRequest(method="GET", path=path_of(ref), read=decode_as(responses.Identity))


def state(ref: str) -> EndpointRequest[responses.Summary]:
    """The state of an agent, in terms common to both transports."""
    return EndpointRequest(method="GET", path=path_of(ref, "state"), read=decode_as(responses.Summary))


def state_detail(ref: str) -> EndpointRequest[responses.Detail]:
    """The state with the details of the agent's transport."""
    return EndpointRequest(
        method="GET", path=path_of(ref, "state", "detail"), read=decode_as(responses.Detail)
    )


def history(ref: str, *, limit: int | None = None) -> EndpointRequest[responses.History]:
    """The recent history of an agent, newest first where it is headless."""
    query = without_none({"limit": limit})
    return EndpointRequest(
        method="GET", path=path_of(ref, "history"), query=query, read=decode_as(responses.History)
    )


def managed_state(ref: str) -> EndpointRequest[responses.Summary]:
    """`state`, at the path that other implementations use for this shape."""
    return EndpointRequest(
        method="GET", path=path_of(ref, "managed-state"), read=decode_as(responses.Summary)
    )


def managed_state_detail(ref: str) -> EndpointRequest[responses.Detail]:
    """`state_detail`, at the path that other implementations use for this shape."""
    return EndpointRequest(
        method="GET", path=path_of(ref, "managed-state", "detail"), read=decode_as(responses.Detail)
    )


def managed_history(ref: str, *, limit: int | None = None) -> EndpointRequest[responses.History]:
    """`history`, at the path that other implementations use for this shape."""
    path, query = path_of(ref, "managed-history"), without_none({"limit": limit})
    return EndpointRequest(method="GET", path=path, query=query, read=decode_as(responses.History))


def prompt(
    ref: str, text: str, *, model: str | None = None, reasoning_level: int | None = None
) -> EndpointRequest[responses.ManagedAccepted]:
    """Prompt the agent, through its gateway or directly.

    `ServerConflict` while a headless turn runs.
    """
    body = {"request_kind": "submit_prompt", "prompt": text, **execution_override(model, reasoning_level)}
    return _request(ref, body)


def interrupt(ref: str) -> EndpointRequest[responses.ManagedAccepted]:
    """Interrupt the agent; `no_op` when it is idle."""
    return _request(ref, {"request_kind": "interrupt"})


def stop(ref: str) -> EndpointRequest[responses.ActionDone]:
    """Stop the agent and its gateway; it can be relaunched."""
    path = path_of(ref, "stop")
    return EndpointRequest(method="POST", path=path, extra_seconds=30.0, read=decode_as(responses.ActionDone))


def launch_headless(order: Mapping[str, Any]) -> EndpointRequest[responses.Launched]:
    """Start a headless agent that the server owns; *order* has the contract's fields."""
    return EndpointRequest(
        method="POST",
        path="/houmao/agents/headless/launches",
        body=order,
        extra_seconds=60.0,
        read=decode_as(responses.Launched),
    )


def submit_turn(
    ref: str,
    text: str,
    *,
    chat_session: Mapping[str, Any] | None = None,
    model: str | None = None,
    reasoning_level: int | None = None,
) -> EndpointRequest[responses.TurnAccepted]:
    """Start one turn of a headless agent. Its record is on disk when the response arrives."""
    body: dict[str, Any] = {"prompt": text, **execution_override(model, reasoning_level)}
    if chat_session is not None:
        body["chat_session"] = dict(chat_session)
    return EndpointRequest(
        method="POST", path=path_of(ref, "turns"), body=body, read=decode_as(responses.TurnAccepted)
    )


def interrupt_turn(ref: str) -> EndpointRequest[responses.ActionDone]:
    """Interrupt the turn of a headless agent, if one runs; `interrupt` works for all agents."""
    return EndpointRequest(
        method="POST", path=path_of(ref, "interrupt"), read=decode_as(responses.ActionDone)
    )


def turn(ref: str, turn_id: str) -> EndpointRequest[responses.TurnReport]:
    """The status and the outcome of a turn."""
    return EndpointRequest(
        method="GET", path=path_of(ref, "turns", turn_id), read=decode_as(responses.TurnReport)
    )


def turn_events(ref: str, turn_id: str) -> EndpointRequest[responses.TurnEvents]:
    """The events of a turn."""
    path = path_of(ref, "turns", turn_id, "events")
    return EndpointRequest(method="GET", path=path, read=decode_as(responses.TurnEvents))


def turn_artifact(
    ref: str, turn_id: str, artifact: Literal["stdout", "stderr"], *, offset: int = 0
) -> EndpointRequest[bytes]:
    """The provider's raw output from *offset* on, at most 4 MiB; empty at the end."""

    def read(raw: RawResponse) -> bytes:
        if raw.status == _BEYOND_THE_END:
            return b""
        content = raw.bytes()
        return content if raw.status == _PARTIAL else content[offset:]

    return EndpointRequest(
        method="GET",
        path=path_of(ref, "turns", turn_id, "artifacts", artifact),
        headers={"Range": f"bytes={offset}-{offset + _RANGE_BYTES - 1}"},
        read=read,
    )


def through_gateway(
    ref: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    extra_seconds: float = 0.0,
) -> EndpointRequest[dict[str, Any]]:
    """A request to the gateway route *path*, such as `/v1/control/prompt`, forwarded by the server.

    `ServerUnavailable` without a live gateway.
    """
    return EndpointRequest(
        method=method,
        path=_forwarded_path(ref, path),
        body=body,
        headers=headers or {},
        extra_seconds=extra_seconds,
        read=RawResponse.value,
    )


def events(
    *, since: str | None = None, agents: Sequence[str] = (), kinds: Sequence[str] = (), follow: bool = True
) -> EndpointRequest[None]:
    """Events of *agents*, or of all; the response is a stream, so only an error response is decoded."""

    def read(raw: RawResponse) -> None:
        raw.bytes()

    query = {"since": since, "agent": ",".join(agents) or None, "kind": ",".join(kinds) or None}
    wanted = without_none({**query, "follow": None if follow else "false"})
    return EndpointRequest(method="GET", path="/houmao/events", query=wanted, read=read)


def path_of(ref: str, *below: str) -> str:
    """The path of an agent's resource."""
    return "/".join(("/houmao/agents", *(urllib.parse.quote(part, safe="") for part in (ref, *below))))


def _request(ref: str, body: Mapping[str, Any]) -> EndpointRequest[responses.ManagedAccepted]:
    return EndpointRequest(
        method="POST",
        path=path_of(ref, "requests"),
        body=body,
        extra_seconds=_READY_SECONDS,
        read=decode_as(responses.ManagedAccepted),
    )


def _forwarded_path(ref: str, path: str) -> str:
    """The server's path for the gateway route *path*."""
    at = path_of(ref)
    if path == "/v1/status":
        return f"{at}/gateway"
    for prefix, place in (("/v1/mail/", "/mail/"), ("/v1/control/tui/", "/gateway/tui/")):
        if path.startswith(prefix):
            return f"{at}{place}{path.removeprefix(prefix)}"
    return f"{at}/gateway/{path.removeprefix('/v1/')}"
