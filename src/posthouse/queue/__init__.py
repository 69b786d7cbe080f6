"""Durable requests: what was accepted is on disk, in one order, and is carried out at most once.

Owns `queue.sqlite`: the contract's tables, and beside them tables of our own for the order, the agent's
instances and the turns. Callers own what a request means and who carries it out. `open_queue` gives the
`Queue`; one process has it open at a time, which the caller's lock on the gateway root ensures.
"""

from posthouse.queue.notifier import NotifierBook, Past, Poll, Settings, WakeRule, Wakes
from posthouse.queue.open_database import DIED_RUNNING, set_aside_at
from posthouse.queue.pruning import Limits
from posthouse.queue.queue import (
    Accepted,
    Choice,
    Claim,
    Coalesced,
    Counts,
    Decided,
    Finished,
    Found,
    Instance,
    LeftTurn,
    NothingToDecide,
    Queue,
    QueueFull,
    QueueUnavailable,
    Request,
    Result,
    Row,
    SetAside,
)
from posthouse.queue.receipt import (
    ENDS,
    MAX_KEY_LENGTH,
    Filter,
    FirstAnswer,
    Key,
    KeyReused,
    Page,
    Passed,
    PastQueue,
    Receipt,
    Receipts,
    ReceiptState,
    Stage,
    StageName,
)
from posthouse.queue.sqlite import depth_of, open_queue

__all__ = [
    "DIED_RUNNING",
    "ENDS",
    "MAX_KEY_LENGTH",
    "Accepted",
    "Choice",
    "Claim",
    "Coalesced",
    "Counts",
    "Decided",
    "Filter",
    "Finished",
    "FirstAnswer",
    "Found",
    "Instance",
    "Key",
    "KeyReused",
    "LeftTurn",
    "Limits",
    "NothingToDecide",
    "NotifierBook",
    "Page",
    "Passed",
    "Past",
    "PastQueue",
    "Poll",
    "Queue",
    "QueueFull",
    "QueueUnavailable",
    "Receipt",
    "ReceiptState",
    "Receipts",
    "Request",
    "Result",
    "Row",
    "SetAside",
    "Settings",
    "Stage",
    "StageName",
    "WakeRule",
    "Wakes",
    "depth_of",
    "open_queue",
    "set_aside_at",
]
