"""What everything that acts on one agent shares inside its gateway."""

import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from posthouse.agent.adapter import AgentAdapter
from posthouse.contracts.gateway_files import Attach
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.events.journal import Journal
from posthouse.gateway.receipts.service import ReceiptBook
from posthouse.gateway.slot import Slot
from posthouse.queue import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """One gateway, as its parts see it."""

    attach: Attach
    adapter: AgentAdapter
    queue: Queue
    slot: Slot
    journal: Journal
    log: logging.Logger
    book: ReceiptBook
    #: The status now; asks nobody.
    status: Callable[[], GatewayStatus]
    #: The epoch of the agent that stands there, as it is published.
    epoch: Callable[[], int]
    #: Returns when the agent may be asked; raises what every route refuses with otherwise.
    admit: Callable[[], Awaitable[None]]
    #: Why nothing may be given to the agent just now (a usage limit); None when nothing keeps it.
    held_back: Callable[[], str | None]
    #: Tells whoever follows the status that it may have changed.
    changed: Callable[[], None]
    #: Runs something that ends with the gateway at the latest.
    spawn: Callable[[Coroutine[Any, Any, None]], object]
