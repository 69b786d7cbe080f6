"""Durable requests: what was accepted is on disk, in one order, and is carried out at most once.

Owns `queue.sqlite`: the contract's tables, and beside them tables of our own for the order and the
agent's instances. Callers own what a request means and who carries it out. `open_queue` gives the
`Queue`; one process has it open at a time, which the caller's lock on the gateway root ensures.
"""

from posthouse.queue.queue import (
    Accepted,
    Counts,
    Finished,
    Instance,
    Queue,
    QueueUnavailable,
    Request,
    Result,
    Row,
)
from posthouse.queue.sqlite import depth_of, open_queue

__all__ = [
    "Accepted",
    "Counts",
    "Finished",
    "Instance",
    "Queue",
    "QueueUnavailable",
    "Request",
    "Result",
    "Row",
    "depth_of",
    "open_queue",
]
