"""An asyncio client for an agent's gateway, through the coordination server."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, cast

from posthouse.clients.gateway import GatewayClient
from posthouse.clients.server import endpoints
from posthouse.clients.server.endpoint import EndpointRequest
from posthouse.clients.server.gateway import ManagedGateway

if TYPE_CHECKING:
    from posthouse.clients.server.async_client import AsyncServerClient

P = ParamSpec("P")
_Response = dict[str, Any]


def _awaited(
    method: Callable[Concatenate[Any, P], _Response],
) -> "Callable[Concatenate[AsyncManagedGateway, P], Awaitable[_Response]]":
    """A blocking client's *method*, awaited."""

    @functools.wraps(method)
    def awaited(self: "AsyncManagedGateway", /, *given: P.args, **named: P.kwargs) -> Awaitable[_Response]:
        return self.request(lambda recorder: method(recorder, *given, **named))

    return awaited


class AsyncManagedGateway:
    """`ManagedGateway`, awaited."""

    status = _awaited(GatewayClient.status)
    submit_prompt = _awaited(GatewayClient.submit_prompt)
    interrupt = _awaited(GatewayClient.interrupt)
    receipt = _awaited(GatewayClient.receipt)
    receipts = _awaited(GatewayClient.receipts)
    cancel = _awaited(GatewayClient.cancel)
    reconcile = _awaited(GatewayClient.reconcile)
    control_prompt = _awaited(GatewayClient.control_prompt)
    send_keys = _awaited(GatewayClient.send_keys)
    headless_state = _awaited(GatewayClient.headless_state)
    start_new_chat_next = _awaited(GatewayClient.start_new_chat_next)
    tui_state = _awaited(GatewayClient.tui_state)
    tui_history = _awaited(GatewayClient.tui_history)
    tui_belief = _awaited(GatewayClient.tui_belief)
    answer = _awaited(GatewayClient.answer)
    answer_rules = _awaited(GatewayClient.answer_rules)
    set_answer_rules = _awaited(GatewayClient.set_answer_rules)
    limit = _awaited(GatewayClient.limit)
    resume_limit = _awaited(GatewayClient.resume_limit)
    note_prompt = _awaited(GatewayClient.note_prompt)
    reminders = _awaited(GatewayClient.reminders)
    reminder = _awaited(GatewayClient.reminder)
    create_reminders = _awaited(GatewayClient.create_reminders)
    put_reminder = _awaited(GatewayClient.put_reminder)
    delete_reminder = _awaited(GatewayClient.delete_reminder)
    notifier = _awaited(GatewayClient.notifier)
    put_notifier = _awaited(GatewayClient.put_notifier)
    delete_notifier = _awaited(GatewayClient.delete_notifier)
    wake_settings = _awaited(GatewayClient.wake_settings)
    put_wake_settings = _awaited(GatewayClient.put_wake_settings)
    mail = _awaited(GatewayClient.mail)
    attach = _awaited(ManagedGateway.attach)
    detach = _awaited(ManagedGateway.detach)

    def __init__(self, server: "AsyncServerClient", ref: str) -> None:
        self._server = server
        self._ref = ref

    def request(self, call: "Callable[[RequestRecorder], _Response]") -> Awaitable[_Response]:
        """Send the request that *call* records."""
        return self._server.request(cast("EndpointRequest[_Response]", call(RequestRecorder(self._ref))))


class RequestRecorder(GatewayClient):
    """A gateway client whose methods return the endpoint request instead of sending it."""

    attach = ManagedGateway.attach
    detach = ManagedGateway.detach

    def __init__(self, ref: str) -> None:
        super().__init__("", 0)
        self._ref = ref

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        extra_seconds: float = 0.0,
    ) -> Any:
        return endpoints.through_gateway(
            self._ref, method, path, body, headers=headers, extra_seconds=extra_seconds
        )
