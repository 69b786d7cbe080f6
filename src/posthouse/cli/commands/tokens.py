"""`tokens …`: what callers of the coordination server from beyond this machine may do."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.contracts import server_files as cf

if TYPE_CHECKING:
    from posthouse.server.token_store import Keyring, Token

_SCOPES = ("read", "prompt", "admin")


def _root_argument(parser: Parser) -> None:
    parser.add_argument("--runtime-root", type=Path, metavar="PATH", help="the server's, as given to serve")


def listing_arguments(parser: Parser) -> None:
    _root_argument(parser)


def listing(call: Call) -> int:
    """Name the tokens, what each allows, and the file that holds it; not the tokens themselves."""
    tokens = [*_keyring(call).listed()]
    call.output.table(
        {"tokens": [_told(one) for one in tokens]},
        ("name", "scope", "file"),
        [(Cell(one.name), Cell(one.scope), Cell(str(one.path))) for one in tokens],
        empty="no tokens; make one with: tokens create NAME --scope read",
    )
    return 0


def create_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="whose it will be, or what for")
    parser.add_argument("--scope", choices=_SCOPES, required=True, help="each also allows those before it")
    _root_argument(parser)


def create(call: Call) -> int:
    """Make a token. A server that runs knows it at once."""
    made = _keyring(call).create(call.arguments.name, call.arguments.scope)
    call.output.result(_told(made), f"a token of scope {made.scope} is in {made.path}")
    return 0


def revoke_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    _root_argument(parser)


def revoke(call: Call) -> int:
    """Take a token away. A server that runs refuses it at once."""
    gone = _keyring(call).revoke(call.arguments.name)
    call.output.result({**_told(gone), "status": "revoked"}, f"{gone.name!r} opens nothing any more")
    return 0


def _keyring(call: Call) -> "Keyring":
    from posthouse.server.token_store import Keyring

    runtime_root = (call.arguments.runtime_root or call.wiring.roots.runtime).absolute()
    return Keyring(runtime_root / cf.SERVERS / cf.TOKENS)


def _told(one: "Token") -> dict[str, Any]:
    return {"name": one.name, "scope": one.scope, "path": str(one.path)}
