"""Durable requests: accepted requests are on disk, ordered, and executed at most once.

Owns `queue.sqlite`: the contract's tables, and additional tables for order, agent instances and turns.
Callers own the meaning and the execution of a request. `open_queue` returns the `Queue`. One process has
it open at a time, which the caller's lock on the gateway root ensures.
"""

from posthouse.queue.notifier import NotifierHistory, NotifierStore, Poll, Settings, WakeRecord, WakeRule
from posthouse.queue.open_database import DIED_RUNNING, set_aside_at
from posthouse.queue.pruning import RetentionLimits
from posthouse.queue.queue import (
    Accepted,
    Choice,
    Claim,
    Coalesced,
    Counts,
    EpochDecision,
    ExecutionResult,
    Finished,
    Instance,
    Queue,
    QueuedRequest,
    QueueFull,
    QueueUnavailable,
    RecoveryReport,
    Request,
    SetAside,
    UnfinishedTurn,
)
from posthouse.queue.receipt import (
    ENDS,
    MAX_KEY_LENGTH,
    DirectPrompt,
    IdempotencyKey,
    Receipt,
    ReceiptFilter,
    ReceiptList,
    Receipts,
    ReceiptStage,
    ReceiptState,
    StageName,
    StageReached,
    StoredResponse,
    key_reused,
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
    "DirectPrompt",
    "EpochDecision",
    "ExecutionResult",
    "Finished",
    "IdempotencyKey",
    "Instance",
    "NotifierHistory",
    "NotifierStore",
    "Poll",
    "Queue",
    "QueueFull",
    "QueueUnavailable",
    "QueuedRequest",
    "Receipt",
    "ReceiptFilter",
    "ReceiptList",
    "ReceiptStage",
    "ReceiptState",
    "Receipts",
    "RecoveryReport",
    "Request",
    "RetentionLimits",
    "SetAside",
    "Settings",
    "StageName",
    "StageReached",
    "StoredResponse",
    "UnfinishedTurn",
    "WakeRecord",
    "WakeRule",
    "depth_of",
    "key_reused",
    "open_queue",
    "set_aside_at",
]
