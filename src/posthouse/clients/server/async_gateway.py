"""An agent's gateway, reached through the coordination server, awaited."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, cast

from posthouse.clients.gateway import GatewayClient
from posthouse.clients.server import endpoints
from posthouse.clients.server.endpoint import Question
from posthouse.clients.server.gateway import ManagedGateway

if TYPE_CHECKING:
    from posthouse.clients.server.async_client import AsyncCoordinationClient

P = ParamSpec("P")
_Answer = dict[str, Any]


def _asked(
    method: Callable[Concatenate[Any, P], _Answer],
) -> "Callable[Concatenate[AsyncManagedGateway, P], Awaitable[_Answer]]":
    """A blocking client's *method*, awaited."""

    @functools.wraps(method)
    def awaited(self: "AsyncManagedGateway", /, *given: P.args, **named: P.kwargs) -> Awaitable[_Answer]:
        return self.ask(lambda told: method(told, *given, **named))

    return awaited


class AsyncManagedGateway:
    """`ManagedGateway`, awaited."""

    status = _asked(GatewayClient.status)
    submit_prompt = _asked(GatewayClient.submit_prompt)
    interrupt = _asked(GatewayClient.interrupt)
    receipt = _asked(GatewayClient.receipt)
    receipts = _asked(GatewayClient.receipts)
    cancel = _asked(GatewayClient.cancel)
    reconcile = _asked(GatewayClient.reconcile)
    control_prompt = _asked(GatewayClient.control_prompt)
    send_keys = _asked(GatewayClient.send_keys)
    headless_state = _asked(GatewayClient.headless_state)
    start_new_chat_next = _asked(GatewayClient.start_new_chat_next)
    tui_state = _asked(GatewayClient.tui_state)
    tui_history = _asked(GatewayClient.tui_history)
    tui_belief = _asked(GatewayClient.tui_belief)
    answer = _asked(GatewayClient.answer)
    answer_rules = _asked(GatewayClient.answer_rules)
    set_answer_rules = _asked(GatewayClient.set_answer_rules)
    limit = _asked(GatewayClient.limit)
    resume_limit = _asked(GatewayClient.resume_limit)
    note_prompt = _asked(GatewayClient.note_prompt)
    reminders = _asked(GatewayClient.reminders)
    reminder = _asked(GatewayClient.reminder)
    create_reminders = _asked(GatewayClient.create_reminders)
    put_reminder = _asked(GatewayClient.put_reminder)
    delete_reminder = _asked(GatewayClient.delete_reminder)
    notifier = _asked(GatewayClient.notifier)
    put_notifier = _asked(GatewayClient.put_notifier)
    delete_notifier = _asked(GatewayClient.delete_notifier)
    wake_settings = _asked(GatewayClient.wake_settings)
    put_wake_settings = _asked(GatewayClient.put_wake_settings)
    mail = _asked(GatewayClient.mail)
    attach = _asked(ManagedGateway.attach)
    detach = _asked(ManagedGateway.detach)

    def __init__(self, server: "AsyncCoordinationClient", ref: str) -> None:
        self._server = server
        self._ref = ref

    def ask(self, spoken: "Callable[[Spoken], _Answer]") -> Awaitable[_Answer]:
        """Ask what *spoken* makes a blocking client ask."""
        return self._server.ask(cast("Question[_Answer]", spoken(Spoken(self._ref))))


class Spoken(GatewayClient):
    """A gateway's client whose every method returns its question instead of the answer."""

    attach = ManagedGateway.attach
    detach = ManagedGateway.detach

    def __init__(self, ref: str) -> None:
        super().__init__("", 0)
        self._ref = ref

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        patience_seconds: float = 0.0,
    ) -> Any:
        return endpoints.through_gateway(
            self._ref, method, path, body, headers=headers, patience_seconds=patience_seconds
        )
