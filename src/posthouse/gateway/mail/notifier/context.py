"""What happens to an agent's conversation before it is woken: compacted, cleared, or left as it is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from posthouse import tools
from posthouse.errors import InvalidInput, PosthouseError
from posthouse.gateway.context import Surroundings
from posthouse.gateway.control import preparation
from posthouse.gateway.control.tui import TuiControl
from posthouse.queue import Past, Settings
from posthouse.queue.notifier import Outcome
from posthouse.terminal.screen import ChatDiagnostic, Surface

_SLOT_SECONDS = 2.0
_COMPACT = "/compact"
#: The one tool whose TUI can be compacted before a prompt, and whose failed compactions are recognised.
_CODEX = "codex"


class CantCompact(InvalidInput):
    """That tool and backend can't be compacted before a notification; nothing was changed."""

    code = "unsupported_context_action"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextResult:
    """What was done to the conversation, as the audit tells it."""

    #: Comma-joined words of the contract; None: there was nothing to do.
    told: str | None = None
    #: None: the prompt may follow.
    failed: Outcome | None = None
    detail: str | None = None
    degraded_tool_name: str | None = None
    degraded_error_type: str | None = None


class ContextKeeper:
    """Looks after the conversation of one agent."""

    def __init__(self, gateway: Surroundings, tui: TuiControl) -> None:
        self._gateway = gateway
        self._tui = tui

    def require_compactable(self) -> None:
        """Return when the agent can be compacted before a notification.

        Raises:
            CantCompact: It is not a Codex TUI.
        """
        tool = self._gateway.attach.backend_metadata.tool
        if self._gateway.adapter.is_headless or tool != _CODEX:
            kind = "headless" if self._gateway.adapter.is_headless else "TUI"
            raise CantCompact(
                f"pre_notification_context_action compact is for Codex TUIs; this is a {tool} {kind} agent"
            )

    async def prepare(self, settings: Settings, past: Past, refs: Sequence[str]) -> ContextResult:
        """Do what *settings* ask before a prompt about *refs*. Holds the slot while it types."""
        result = ContextResult()
        wants_compact = settings.pre_notification_context_action == "compact"
        if wants_compact and not set(refs) <= set(past.compacted_refs):
            result = await self._compact(settings, refs)
        return result if result.failed is not None else await self._recover(settings, result)

    async def _compact(self, settings: Settings, refs: Sequence[str]) -> ContextResult:
        broken = ContextResult(
            told="pre_notification_compact_failed", failed="pre_notification_context_error"
        )
        had_error = self._ended_in_error()
        try:
            self.require_compactable()
            await self._typed(_COMPACT)
        except PosthouseError as error:
            return replace(broken, detail=str(error))
        # The screen tells of the newest turn only, so that it is this compaction that failed.
        if (diagnostic := self._diagnostic()) is not None:
            detail = f"{_COMPACT} failed in the agent: {diagnostic.error_type}"
            return replace(broken, detail=detail, failed=None if self._may_clear(settings) else broken.failed)
        if self._ended_in_error() and not had_error:
            return replace(broken, detail=f"{_COMPACT} ended with an error; the agent's screen has its words")
        await self._gateway.queue.notifier.compacted(refs)
        return ContextResult(told="pre_notification_compact_completed")

    def _ended_in_error(self) -> bool:
        surface = self._surface()
        return surface is not None and surface.outcome == "error"

    def _may_clear(self, settings: Settings) -> bool:
        tool = self._gateway.attach.backend_metadata.tool
        return settings.context_error_policy == "clear_context" and tool == _CODEX

    async def _recover(self, settings: Settings, before: ContextResult) -> ContextResult:
        """Start afresh where the conversation is known to be spoiled and the settings say so."""
        diagnostic = self._diagnostic()
        if diagnostic is None:
            return before
        failed: Outcome | None = None
        word, detail = "degraded_context_continued", None
        tool = self._gateway.attach.backend_metadata.tool
        if self._may_clear(settings):
            try:
                await self._typed(tools.load(tool).reset_command)
                word = "clear_context_completed"
            except PosthouseError as error:
                word, failed, detail = "clear_context_failed", "context_recovery_error", str(error)
        return ContextResult(
            told=word if before.told is None else f"{before.told},{word}",
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
        sight = self._gateway.adapter.sight
        return None if sight is None else sight.surface

    async def _typed(self, command: str) -> None:
        async with self._gateway.slot.work("a command before a mail prompt", within_seconds=_SLOT_SECONDS):
            self._gateway.changed()
            await preparation.run_command(command, self._gateway, self._tui)
