"""Every question that a coordination server answers about its agents, one function per route.

*ref* is any name of an agent: id, agent name with or without its prefix, tmux session, session id.
"""

import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from posthouse.clients.server import responses
from posthouse.clients.server.endpoint import Question, Raw, as_kind
from posthouse.clients.server.errors import OtherShape, ServerRefused
from posthouse.clients.wire_helpers import execution_of, present

#: As much of a turn's output as one answer brings.
_PIECE_BYTES = 4 << 20
#: How long a server may wait for a TUI to become ready, and a little more.
_READY_SECONDS = 30.0
_BEYOND_THE_END = 416
_PARTIAL = 206


def health() -> Question[responses.Health]:
    return Question(method="GET", path="/health", read=as_kind(responses.Health))


def service() -> Question[str | None]:
    """What the one who answers calls itself; None when it says nothing that can be understood."""

    def read(raw: Raw) -> str | None:
        try:
            return as_kind(responses.Health)(raw).houmao_service
        except (ServerRefused, OtherShape):
            return None

    return Question(method="GET", path="/health", read=read)


def ready() -> Question[dict[str, Any]]:
    """Whether it serves; refused with `ServerUnavailable` and the reason when it does not yet, or no more."""
    return Question(method="GET", path="/ready", read=Raw.value)


def metrics() -> Question[bytes]:
    """Its numbers, as Prometheus reads them."""
    return Question(method="GET", path="/metrics", read=Raw.bytes)


def current_instance() -> Question[responses.Instance]:
    """The process that answers, and its folder."""
    path = "/houmao/server/current-instance"
    return Question(method="GET", path=path, read=as_kind(responses.Instance))


def shutdown() -> Question[responses.Done]:
    """End the server. Agents and their gateways go on."""
    return Question(method="POST", path="/houmao/server/shutdown", read=as_kind(responses.Done))


def agents(
    *,
    include: Literal["live", "all"] | None = None,
    tool: Sequence[str] = (),
    transport: Literal["tui", "headless"] | None = None,
    state: str | None = None,
    name: str | None = None,
    has_gateway: bool | None = None,
) -> Question[responses.AgentList]:
    """The agents that run, by name; `include="all"` adds those that do not. *name* may have `*` and `?`."""
    query = present(
        {
            "include": include,
            "tool": ",".join(tool) or None,
            "transport": transport,
            "state": state,
            "name": name,
            "has_gateway": None if has_gateway is None else str(has_gateway).lower(),
        }
    )
    return Question(method="GET", path="/houmao/agents", query=query, read=as_kind(responses.AgentList))


def agent(ref: str) -> Question[responses.Identity]:
    """Who an agent is."""
    return Question(method="GET", path=path_of(ref), read=as_kind(responses.Identity))


def state(ref: str) -> Question[responses.Summary]:
    """How an agent is, in words that fit both transports."""
    return Question(method="GET", path=path_of(ref, "state"), read=as_kind(responses.Summary))


def state_detail(ref: str) -> Question[responses.Detail]:
    """The state with what is particular to the agent's transport."""
    return Question(method="GET", path=path_of(ref, "state", "detail"), read=as_kind(responses.Detail))


def history(ref: str, *, limit: int | None = None) -> Question[responses.History]:
    """What lately became of an agent, newest first where it is headless."""
    query = present({"limit": limit})
    return Question(method="GET", path=path_of(ref, "history"), query=query, read=as_kind(responses.History))


def managed_state(ref: str) -> Question[responses.Summary]:
    """`state`, at the path where servers of another make answer in this shape."""
    return Question(method="GET", path=path_of(ref, "managed-state"), read=as_kind(responses.Summary))


def managed_state_detail(ref: str) -> Question[responses.Detail]:
    """`state_detail`, at the path where servers of another make answer in this shape."""
    return Question(
        method="GET", path=path_of(ref, "managed-state", "detail"), read=as_kind(responses.Detail)
    )


def managed_history(ref: str, *, limit: int | None = None) -> Question[responses.History]:
    """`history`, at the path where servers of another make answer in this shape."""
    path, query = path_of(ref, "managed-history"), present({"limit": limit})
    return Question(method="GET", path=path, query=query, read=as_kind(responses.History))


def prompt(
    ref: str, text: str, *, model: str | None = None, reasoning_level: int | None = None
) -> Question[responses.ManagedAccepted]:
    """Give the agent a prompt, whichever way is safe now.

    Refused with `ServerConflict` while a headless turn runs.
    """
    body = {"request_kind": "submit_prompt", "prompt": text, **execution_of(model, reasoning_level)}
    return _request(ref, body)


def interrupt(ref: str) -> Question[responses.ManagedAccepted]:
    """Interrupt what the agent does; `no_op` when it does nothing."""
    return _request(ref, {"request_kind": "interrupt"})


def stop(ref: str) -> Question[responses.ActionDone]:
    """End the agent and its gateway; it can be relaunched."""
    path = path_of(ref, "stop")
    return Question(method="POST", path=path, patience_seconds=30.0, read=as_kind(responses.ActionDone))


def launch_headless(order: Mapping[str, Any]) -> Question[responses.Launched]:
    """Start a headless agent that the server owns; *order* has the contract's fields."""
    return Question(
        method="POST",
        path="/houmao/agents/headless/launches",
        body=order,
        patience_seconds=60.0,
        read=as_kind(responses.Launched),
    )


def submit_turn(
    ref: str,
    text: str,
    *,
    chat_session: Mapping[str, Any] | None = None,
    model: str | None = None,
    reasoning_level: int | None = None,
) -> Question[responses.TurnAccepted]:
    """Have a headless agent take one turn. Its record is on disk when this is answered."""
    body: dict[str, Any] = {"prompt": text, **execution_of(model, reasoning_level)}
    if chat_session is not None:
        body["chat_session"] = dict(chat_session)
    return Question(
        method="POST", path=path_of(ref, "turns"), body=body, read=as_kind(responses.TurnAccepted)
    )


def interrupt_turn(ref: str) -> Question[responses.ActionDone]:
    """Interrupt the turn of a headless agent, if one runs; `interrupt` does it for all agents."""
    return Question(method="POST", path=path_of(ref, "interrupt"), read=as_kind(responses.ActionDone))


def turn(ref: str, turn_id: str) -> Question[responses.TurnReport]:
    """What became of a turn."""
    return Question(method="GET", path=path_of(ref, "turns", turn_id), read=as_kind(responses.TurnReport))


def turn_events(ref: str, turn_id: str) -> Question[responses.TurnEvents]:
    """What happened in a turn."""
    path = path_of(ref, "turns", turn_id, "events")
    return Question(method="GET", path=path, read=as_kind(responses.TurnEvents))


def turn_artifact(
    ref: str, turn_id: str, artifact: Literal["stdout", "stderr"], *, offset: int = 0
) -> Question[bytes]:
    """The provider's raw output from *offset* on, at most 4 MiB of it; nothing when there is no more."""

    def read(raw: Raw) -> bytes:
        if raw.status == _BEYOND_THE_END:
            return b""
        content = raw.bytes()
        return content if raw.status == _PARTIAL else content[offset:]

    return Question(
        method="GET",
        path=path_of(ref, "turns", turn_id, "artifacts", artifact),
        headers={"Range": f"bytes={offset}-{offset + _PIECE_BYTES - 1}"},
        read=read,
    )


def through_gateway(
    ref: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    patience_seconds: float = 0.0,
) -> Question[dict[str, Any]]:
    """What the agent's gateway says on its own route *path*, such as `/v1/control/prompt`.

    Refused with `ServerUnavailable` when it has no live gateway.
    """
    return Question(
        method=method,
        path=_behind(ref, path),
        body=body,
        headers=headers or {},
        patience_seconds=patience_seconds,
        read=Raw.value,
    )


def events(
    *, since: str | None = None, agents: Sequence[str] = (), kinds: Sequence[str] = (), follow: bool = True
) -> Question[None]:
    """What happens to *agents*, or to all; the answer is a stream, so only its refusal is read here."""

    def read(raw: Raw) -> None:
        raw.bytes()

    query = {"since": since, "agent": ",".join(agents) or None, "kind": ",".join(kinds) or None}
    wanted = present({**query, "follow": None if follow else "false"})
    return Question(method="GET", path="/houmao/events", query=wanted, read=read)


def path_of(ref: str, *below: str) -> str:
    """The path of what the server keeps of an agent."""
    return "/".join(("/houmao/agents", *(urllib.parse.quote(part, safe="") for part in (ref, *below))))


def _request(ref: str, body: Mapping[str, Any]) -> Question[responses.ManagedAccepted]:
    return Question(
        method="POST",
        path=path_of(ref, "requests"),
        body=body,
        patience_seconds=_READY_SECONDS,
        read=as_kind(responses.ManagedAccepted),
    )


def _behind(ref: str, path: str) -> str:
    """Where the server keeps a gateway's route."""
    at = path_of(ref)
    if path == "/v1/status":
        return f"{at}/gateway"
    for prefix, place in (("/v1/mail/", "/mail/"), ("/v1/control/tui/", "/gateway/tui/")):
        if path.startswith(prefix):
            return f"{at}{place}{path.removeprefix(prefix)}"
    return f"{at}/gateway/{path.removeprefix('/v1/')}"
