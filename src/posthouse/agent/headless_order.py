"""Builds the headless turn for a prompt: conversation, program and options."""

from msgspec import structs

from posthouse import tools
from posthouse.agent.adapter import Prompt, PromptFailed
from posthouse.contracts.events import Detail, Style
from posthouse.contracts.manifest import Headless, Manifest
from posthouse.sessions import conversation, start
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.tools.tool import Chat, HeadlessTurn
from posthouse.turns import runner
from posthouse.turns.turn_order import Order


def count_turn(session: Session) -> Session:
    """Increment the turn index in the manifest. On disk before the turn exists, so indexes are unique."""

    def counted(manifest: Manifest) -> Manifest:
        if manifest.headless is None:
            return manifest
        index = manifest.headless.turn_index + 1
        return conversation.with_headless(manifest, structs.replace(manifest.headless, turn_index=index))

    return sessions.update(session, counted)


def choose_chat(prompt: Prompt, headless: Headless) -> Chat:
    """The conversation that *prompt* continues.

    Raises:
        PromptFailed: It asks for the current one, and none is pinned (`missing_current_chat_session`).
    """
    match prompt.chat_mode:
        case None | "auto":
            return conversation.next_chat(headless)
        case "current" if headless.session_id is None:
            raise PromptFailed(
                "no conversation is pinned yet; ask for a new one, or leave chat_session out",
                code="missing_current_chat_session",
            )
        case "current":
            return Chat(mode="exact", id=headless.session_id)
        case "tool_last_or_new":
            return Chat(mode="latest")
        case mode:
            return Chat(mode=mode, id=prompt.chat_id)


def order_of(session: Session, prompt: Prompt) -> Order:
    """The turn order for *prompt*; `count_turn` must have counted it.

    Raises:
        PromptFailed: As `choose_chat`.
    """
    manifest = session.manifest
    if manifest.headless is None:
        raise ValueError(f"backend {manifest.backend} has no headless turns")
    program = tools.load(manifest.tool).turn_program(
        start.launch_of(session),
        HeadlessTurn(
            prompt=prompt.text,
            chat=choose_chat(prompt, manifest.headless),
            model=prompt.model,
            reasoning_level=prompt.reasoning_level,
        ),
    )
    return Order(
        turn_id=prompt.turn_id or runner.new_turn_id(),
        turn_index=manifest.headless.turn_index,
        tool=manifest.tool,
        argv=program.argv,
        environment=program.environment,
        stdin=program.stdin,
        working_directory=manifest.working_directory,
        style=_style(manifest.launch_plan.metadata.get("headless_display_style")),
        detail=_detail(manifest.launch_plan.metadata.get("headless_display_detail")),
    )


def _style(value: object) -> Style:
    return "json" if value == "json" else "fancy" if value == "fancy" else "plain"


def _detail(value: object) -> Detail:
    return "detail" if value == "detail" else "concise"
