"""The shared dependencies of the components of one gateway."""

import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from posthouse.agent.adapter import AgentAdapter
from posthouse.contracts.gateway_files import Attach
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.events.journal import Journal
from posthouse.gateway.receipts.service import ReceiptService
from posthouse.gateway.slot import Slot
from posthouse.queue import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayContext:
    """The gateway that a component belongs to."""

    attach: Attach
    adapter: AgentAdapter
    queue: Queue
    slot: Slot
    journal: Journal
    log: logging.Logger
    receipts: ReceiptService
    #: The current status, without I/O.
    status: Callable[[], GatewayStatus]
    #: The published epoch of the current agent instance.
    epoch: Callable[[], int]
    #: Returns when the agent accepts requests; otherwise raises the error that every route answers with.
    admit: Callable[[], Awaitable[None]]
    #: Why nothing may be delivered to the agent now (a usage limit); None without a reason.
    hold_reason: Callable[[], str | None]
    #: Reports that the status may have changed.
    notify_changed: Callable[[], None]
    #: Starts a background task, which is cancelled when the gateway stops.
    spawn: Callable[[Coroutine[Any, Any, None]], object]
