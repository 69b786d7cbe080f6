"""What a gateway tells its operators."""

from typing import Literal

from posthouse.contracts.gateway_http import Count, Wire
from posthouse.contracts.operations_http import BackgroundFailure

#: `limited`: a usage limit holds the queue; `blocked`: a dialog waits for an answer.
AgentWord = Literal["idle", "busy", "blocked", "limited", "unavailable"]


class Readiness(Wire):
    """Whether a prompt would be accepted and carried out now."""

    ready: bool
    #: Why not; null when it would.
    reason: str | None
    request_admission: Literal["open", "blocked_unavailable", "blocked_reconciliation"]
    #: A busy one gets it right after what runs.
    agent: AgentWord
    queue_depth: Count
    #: Background tasks that died since the gateway started, those that run again included.
    background_failures: tuple[BackgroundFailure, ...] = ()
