"""The options of mail commands, and the orders that they come to."""

import argparse
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from posthouse.cli.error_output import UsageError
from posthouse.cli.options import Parser
from posthouse.cli.wiring import Wiring
from posthouse.support import clock

#: As much as a gateway takes.
_MAX_BODY_BYTES = 1 << 20


def one(parser: Parser, *, with_box: bool = True) -> None:
    parser.add_argument(
        "--message-ref", required=True, metavar="REF", help="the message, as a listing names it"
    )
    if with_box:
        parser.add_argument("--box", metavar="BOX", help="only if it lies there")


def several(parser: Parser) -> None:
    parser.add_argument(
        "--message-ref",
        required=True,
        action="append",
        dest="message_refs",
        metavar="REF",
        help="a message; may be repeated",
    )


def listing(parser: Parser) -> None:
    parser.add_argument("--box", default="inbox", metavar="BOX")
    parser.add_argument("--read-state", choices=("any", "read", "unread"), default="any")
    parser.add_argument("--answered-state", choices=("any", "answered", "unanswered"), default="any")
    archived = parser.add_mutually_exclusive_group()
    archived.add_argument("--archived", action="store_true", default=None)
    archived.add_argument("--not-archived", action="store_false", dest="archived")
    bounds(parser)
    parser.add_argument("--include-body", action="store_true", help="with the whole text of each message")


def bounds(parser: Parser) -> None:
    parser.add_argument("--limit", type=positive, metavar="N", help="the newest N")
    parser.add_argument("--since", type=moment, metavar="TIME", help="not older than this, ISO-8601")


def recipients(parser: Parser) -> None:
    parser.add_argument(
        "--to", required=True, action="append", metavar="ADDRESS", help="a full address; may be repeated"
    )
    parser.add_argument("--cc", action="append", default=[], metavar="ADDRESS")


def composed(parser: Parser) -> None:
    parser.add_argument("--body-content", metavar="TEXT", help="the text")
    parser.add_argument(
        "--body-file", type=Path, metavar="FILE", help="the file that has the text; - is stdin"
    )
    parser.add_argument(
        "--attach", action="append", default=[], type=Path, metavar="FILE", help="may be repeated"
    )
    parser.add_argument("--notify-block", metavar="TEXT", help="words for the prompt that wakes the receiver")
    parser.add_argument("--notify-block-placement", choices=("append", "prepend"))


def flags(parser: Parser) -> None:
    for yes, no in (("read", "unread"), ("answered", "unanswered"), ("archived", "unarchived")):
        group = parser.add_mutually_exclusive_group()
        group.add_argument(f"--{yes}", action="store_true", default=None, dest=yes)
        group.add_argument(f"--{no}", action="store_false", dest=yes)


def filter_of(arguments: Namespace) -> dict[str, Any]:
    names = ("box", "read_state", "answered_state", "archived", "limit", "since", "include_body")
    return {name: getattr(arguments, name) for name in names}


def composed_of(arguments: Namespace, wiring: Wiring) -> dict[str, Any]:
    """Body, attachments and notice.

    Raises:
        UsageError: There is no body, or there are two.
    """
    if (arguments.body_content is None) == (arguments.body_file is None):
        raise UsageError("give exactly one of --body-content and --body-file")
    if arguments.notify_block_placement is not None and arguments.notify_block is None:
        raise UsageError("--notify-block-placement goes with --notify-block")
    block = None
    if arguments.notify_block is not None:
        placement = arguments.notify_block_placement or "append"
        block = {"text": arguments.notify_block, "placement": placement}
    body = arguments.body_content if arguments.body_file is None else _text_of(arguments.body_file)
    return {
        "body_content": body,
        "attachments": [{"path": str(wiring.working_directory / path)} for path in arguments.attach],
        "notify_block": block,
    }


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count: give a number from 1 on")
    return int(text)


def moment(text: str) -> str:
    try:
        clock.parse(text)
    except ValueError:
        example = "2026-03-19T08:00:00Z"
        raise argparse.ArgumentTypeError(f"{text!r} is no moment: write it as {example}") from None
    return text


def _text_of(path: Path) -> str:
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
        raise UsageError(f"{path} is no text in UTF-8; attach it instead") from error
