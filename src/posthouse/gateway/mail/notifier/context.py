"""Prepares an agent's conversation before a wake-up: compacts it, clears it or leaves it unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posthouse import tools
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control import preparation
from posthouse.gateway.control.tui import TuiControl
from posthouse.queue import NotifierHistory, Settings
from posthouse.queue.notifier import Outcome
from posthouse.terminal.screen import ChatDiagnostic, Surface

_SLOT_SECONDS = 2.0
_COMPACT = "/compact"
#: The only tool whose TUI can be compacted before a prompt and whose failed compactions are detected.
_CODEX = "codex"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextResult:
    """What was done to the conversation, for the audit row."""

    #: Comma-joined words of the contract; None when no action was needed.
    action_outcome: str | None = None
    #: None when the prompt may be sent.
    failed: Outcome | None = None
    detail: str | None = None
    degraded_tool_name: str | None = None
    degraded_error_type: str | None = None


class ContextPreparer:
    """Prepares the conversation of one agent."""

    def __init__(self, gateway: GatewayContext, tui: TuiControl) -> None:
        self._gateway = gateway
        self._tui = tui

    def require_compactable(self) -> None:
        """Check that the agent can be compacted before a notification.

        Raises:
            InvalidInput: It is not a Codex TUI (`unsupported_context_action`).
        """
        tool = self._gateway.attach.backend_metadata.tool
        if self._gateway.adapter.is_headless or tool != _CODEX:
            kind = "headless" if self._gateway.adapter.is_headless else "TUI"
            raise InvalidInput(
                f"pre_notification_context_action compact is for Codex TUIs; this is a {tool} {kind} agent",
                code="unsupported_context_action",
            )

    async def prepare(
        self, settings: Settings, history: NotifierHistory, refs: Sequence[str]
    ) -> ContextResult:
        """Apply *settings* before a prompt about *refs*. Holds the execution slot while typing."""
        result = ContextResult()
        wants_compact = settings.pre_notification_context_action == "compact"
        if wants_compact and not set(refs) <= set(history.compacted_refs):
            result = await self._compact(settings, refs)
        return result if result.failed is not None else await self._recover(settings, result)

    async def _compact(self, settings: Settings, refs: Sequence[str]) -> ContextResult:
        broken = ContextResult(
            action_outcome="pre_notification_compact_failed", failed="pre_notification_context_error"
        )
        had_error = self._ended_in_error()
        try:
            self.require_compactable()
            await self._run_command(_COMPACT)
        except PosthouseError as error:
            return replace(broken, detail=str(error))
        # The screen shows the newest turn only, so the diagnostic belongs to this compaction.
        if (diagnostic := self._diagnostic()) is not None:
            detail = f"{_COMPACT} failed in the agent: {diagnostic.error_type}"
            return replace(broken, detail=detail, failed=None if self._may_clear(settings) else broken.failed)
        if self._ended_in_error() and not had_error:
            return replace(broken, detail=f"{_COMPACT} ended with an error; see the agent's screen")
        await self._gateway.queue.notifier.record_compacted(refs)
        return ContextResult(action_outcome="pre_notification_compact_completed")

    def _ended_in_error(self) -> bool:
        surface = self._surface()
        return surface is not None and surface.outcome == "error"

    def _may_clear(self, settings: Settings) -> bool:
        tool = self._gateway.attach.backend_metadata.tool
        return settings.context_error_policy == "clear_context" and tool == _CODEX

    async def _recover(self, settings: Settings, before: ContextResult) -> ContextResult:
        """Clear a degraded conversation if the settings ask for it."""
        diagnostic = self._diagnostic()
        if diagnostic is None:
            return before
        failed: Outcome | None = None
        outcome, detail = "degraded_context_continued", None
        tool = self._gateway.attach.backend_metadata.tool
        if self._may_clear(settings):
            try:
                await self._run_command(tools.load(tool).reset_command)
                outcome = "clear_context_completed"
            except PosthouseError as error:
                outcome, failed, detail = "clear_context_failed", "context_recovery_error", str(error)
        return ContextResult(
            action_outcome=outcome if before.action_outcome is None else f"{before.action_outcome},{outcome}",
            failed=failed,
            detail=detail or before.detail,
            degraded_tool_name=tool,
            degraded_error_type=diagnostic.error_type,
        )

    def _diagnostic(self) -> ChatDiagnostic | None:
        surface = self._surface()
        if surface is None or surface.chat_context != "degraded":
            return None
        return surface.chat_diagnostic or ChatDiagnostic(error_type="unknown", preview="")

    def _surface(self) -> Surface | None:
        observation = self._gateway.adapter.observation
        return None if observation is None else observation.surface

    async def _run_command(self, command: str) -> None:
        async with self._gateway.slot.work("a command before a mail prompt", within_seconds=_SLOT_SECONDS):
            self._gateway.notify_changed()
            await preparation.run_command(command, self._gateway, self._tui)
