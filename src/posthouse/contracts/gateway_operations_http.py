"""Operational status of a gateway."""

from typing import Literal

from posthouse.contracts.gateway_http import Count, Wire
from posthouse.contracts.operations_http import BackgroundFailure

#: `limited`: a usage limit holds the queue; `blocked`: a dialog waits for an answer.
AgentWord = Literal["idle", "busy", "blocked", "limited", "unavailable"]


class Readiness(Wire):
    """Whether a prompt would be accepted and executed now."""

    ready: bool
    #: The reason; null when ready.
    reason: str | None
    request_admission: Literal["open", "blocked_unavailable", "blocked_reconciliation"]
    #: A busy agent gets it right after the running turn.
    agent: AgentWord
    queue_depth: Count
    #: Background tasks that died since the gateway started, including restarted ones.
    background_failures: tuple[BackgroundFailure, ...] = ()
