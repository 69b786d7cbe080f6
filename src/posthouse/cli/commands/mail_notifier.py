"""`agents gateway mail-notifier …`: wakes an agent for new mail."""

from typing import TYPE_CHECKING, Any

from posthouse.cli.context import Call
from posthouse.cli.live_gateway import client_of
from posthouse.cli.mail_options import positive
from posthouse.cli.options import Parser
from posthouse.cli.output import fields
from posthouse.errors import NotFound

if TYPE_CHECKING:
    from posthouse.clients.gateway import GatewayClient

_ORDER = (
    "interval_seconds",
    "mode",
    "appendix_text",
    "context_error_policy",
    "pre_notification_context_action",
    "notify_block_render",
    "notify_block_auth_mode",
    "notify_block_auth_verifier",
    "notify_block_shared_tokens",
    "notify_block_per_message_chars",
    "notify_block_total_chars",
)
_WAKE = ("wake", "backoff_max_seconds", "operator_note_after")
#: Not shown in plain output; tokens are secret.
_HIDDEN = ("schema_version", "notify_block_shared_tokens")


def status(call: Call) -> int:
    client = client_of(call)
    return _show(call, client.notifier(), _wake_of(client))


def enable_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--interval-seconds", type=positive, required=True, metavar="N", help="the poll interval"
    )
    parser.add_argument(
        "--mode", choices=("any_inbox", "unread_only"), help="which mail wakes the agent (default: any_inbox)"
    )
    parser.add_argument("--appendix-text", metavar="TEXT", help="text appended to every prompt; '' for none")
    parser.add_argument(
        "--context-error-policy",
        choices=("continue_current", "clear_context"),
        help="what to do after a context error",
    )
    parser.add_argument(
        "--pre-notification-context-action",
        choices=("none", "compact"),
        help="what to do with the context before a wake-up",
    )
    parser.add_argument(
        "--notify-block-render", choices=("enabled", "disabled"), help="show senders' notify blocks or not"
    )
    parser.add_argument(
        "--notify-block-auth-mode",
        choices=("permissive-log", "required"),
        help="log unauthenticated notify blocks, or refuse them",
    )
    parser.add_argument(
        "--notify-block-auth-verifier", choices=("none", "shared-token"), help="how senders authenticate"
    )
    parser.add_argument(
        "--notify-block-shared-token",
        action="append",
        dest="notify_block_shared_tokens",
        metavar="TOKEN",
        help="a token that authenticates senders; may be repeated",
    )
    parser.add_argument(
        "--notify-block-per-message-chars",
        type=positive,
        metavar="N",
        help="limit of one message's notify block",
    )
    parser.add_argument(
        "--notify-block-total-chars", type=positive, metavar="N", help="limit of all notify blocks together"
    )
    parser.add_argument(
        "--wake", choices=("interval", "immediate"), help="immediate: new mail wakes an idle agent at once"
    )
    parser.add_argument(
        "--backoff-max-seconds",
        type=positive,
        metavar="N",
        help="back off for unchanged mail: wake after 1, 2, 4 … intervals, up to N seconds",
    )
    parser.add_argument(
        "--operator-note-after",
        type=positive,
        metavar="N",
        help="notify the operator after N wake-ups without effect",
    )


def enable(call: Call) -> int:
    """Enable wake-ups for new mail."""
    client = client_of(call)
    value = client.put_notifier(_given(call, _ORDER))
    wake = _wake_of(client)
    if asked := _given(call, _WAKE):
        wake = client.put_wake_settings({**wake, **asked})
    return _show(call, value, wake)


def disable(call: Call) -> int:
    """Disable wake-ups. The settings are kept."""
    client = client_of(call)
    return _show(call, client.delete_notifier(), _wake_of(client))


def _wake_of(client: "GatewayClient") -> dict[str, Any]:
    """The wake settings, an extension of the contract; other implementations have none."""
    try:
        return client.wake_settings()
    except NotFound:
        return {}


def _given(call: Call, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(call.arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _show(call: Call, value: dict[str, Any], wake: dict[str, Any]) -> int:
    shown = {**value, **{name: wake[name] for name in _WAKE if name in wake}}
    pairs = [
        (name, str(one))
        for name, one in shown.items()
        if name not in _HIDDEN and one is not None and one != ""
    ]
    call.output.result({**value, "wake_settings": wake}, fields(pairs))
    return 0
