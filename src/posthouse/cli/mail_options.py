"""The options of mail commands, and the request fields they become."""

import argparse
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.cli.wiring import Wiring
from posthouse.support import clock

#: The gateway's limit.
_MAX_BODY_BYTES = 1 << 20


def message_argument(parser: Parser, *, with_box: bool = True) -> None:
    parser.add_argument(
        "--message-ref", required=True, metavar="REF", help="the message's reference, from a listing"
    )
    if with_box:
        parser.add_argument("--box", metavar="BOX", help="only if the message is in this box")


def messages_argument(parser: Parser) -> None:
    parser.add_argument(
        "--message-ref",
        required=True,
        action="append",
        dest="message_refs",
        metavar="REF",
        help="a message's reference; may be repeated",
    )


def listing_arguments(parser: Parser) -> None:
    parser.add_argument("--box", default="inbox", metavar="BOX", help="the box to list (default: inbox)")
    parser.add_argument(
        "--read-state", choices=("any", "read", "unread"), default="any", help="filter by read mark"
    )
    parser.add_argument(
        "--answered-state",
        choices=("any", "answered", "unanswered"),
        default="any",
        help="filter by answered mark",
    )
    archived = parser.add_mutually_exclusive_group()
    archived.add_argument("--archived", action="store_true", default=None, help="only archived messages")
    archived.add_argument(
        "--not-archived", action="store_false", dest="archived", help="only messages that are not archived"
    )
    range_arguments(parser)
    parser.add_argument("--include-body", action="store_true", help="include the text of each message")


def range_arguments(parser: Parser) -> None:
    parser.add_argument("--limit", type=positive, metavar="N", help="show at most the newest N")
    parser.add_argument(
        "--since", type=timestamp, metavar="TIME", help="only messages from this time on (ISO-8601)"
    )


def recipient_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--to", required=True, action="append", metavar="ADDRESS", help="a full address; may be repeated"
    )
    parser.add_argument(
        "--cc", action="append", default=[], metavar="ADDRESS", help="a copy recipient; may be repeated"
    )


def content_arguments(parser: Parser) -> None:
    parser.add_argument("--body-content", metavar="TEXT", help="the message text")
    parser.add_argument(
        "--body-file", type=Path, metavar="FILE", help="read the text from this file; - is stdin"
    )
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a file to attach; may be repeated",
    )
    parser.add_argument("--notify-block", metavar="TEXT", help="text for the receiver's wake-up prompt")
    parser.add_argument(
        "--notify-block-placement",
        choices=("append", "prepend"),
        help="where that text goes in the prompt (default: append)",
    )


def flag_arguments(parser: Parser) -> None:
    for yes, no in (("read", "unread"), ("answered", "unanswered"), ("archived", "unarchived")):
        group = parser.add_mutually_exclusive_group()
        group.add_argument(f"--{yes}", action="store_true", default=None, dest=yes, help=f"mark as {yes}")
        group.add_argument(f"--{no}", action="store_false", dest=yes, help=f"mark as {no}")


def filter_of(arguments: Namespace) -> dict[str, Any]:
    names = ("box", "read_state", "answered_state", "archived", "limit", "since", "include_body")
    return {name: getattr(arguments, name) for name in names}


def content_of(arguments: Namespace, wiring: Wiring) -> dict[str, Any]:
    """Body, attachments and notify block.

    Raises:
        UsageError: The body is missing or given twice.
    """
    if (arguments.body_content is None) == (arguments.body_file is None):
        raise UsageError("give exactly one of --body-content and --body-file")
    if arguments.notify_block_placement is not None and arguments.notify_block is None:
        raise UsageError("--notify-block-placement goes with --notify-block")
    block = None
    if arguments.notify_block is not None:
        placement = arguments.notify_block_placement or "append"
        block = {"text": arguments.notify_block, "placement": placement}
    body = arguments.body_content if arguments.body_file is None else _read_text(arguments.body_file)
    return {
        "body_content": body,
        "attachments": [{"path": str(wiring.working_directory / path)} for path in arguments.attach],
        "notify_block": block,
    }


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"invalid count {text!r}: must be 1 or more")
    return int(text)


def timestamp(text: str) -> str:
    try:
        clock.parse(text)
    except ValueError:
        example = "2026-03-19T08:00:00Z"
        raise argparse.ArgumentTypeError(f"invalid time {text!r}: use a form like {example}") from None
    return text


def _read_text(path: Path) -> str:
    try:
        if str(path) == "-":
            content = sys.stdin.buffer.read(_MAX_BODY_BYTES + 1)
        else:
            with path.open("rb") as file:
                content = file.read(_MAX_BODY_BYTES + 1)
        if len(content) > _MAX_BODY_BYTES:
            raise UsageError(f"{path} is over {_MAX_BODY_BYTES} bytes; attach it instead")
        return content.decode()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text; attach it instead") from error
