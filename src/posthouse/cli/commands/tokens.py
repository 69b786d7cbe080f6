"""`tokens …`: access tokens of the coordination server for callers from other machines."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from posthouse.cli.context import Call
from posthouse.cli.options import Parser
from posthouse.cli.output import Cell
from posthouse.contracts import server_files as cf

if TYPE_CHECKING:
    from posthouse.server.token_store import Token, TokenStore

_SCOPES = ("read", "prompt", "admin")


def _root_argument(parser: Parser) -> None:
    parser.add_argument(
        "--runtime-root", type=Path, metavar="PATH", help="the server's runtime root, as given to serve"
    )


def listing_arguments(parser: Parser) -> None:
    _root_argument(parser)


def listing(call: Call) -> int:
    """List the tokens with scope and file, without their secrets."""
    tokens = [*_token_store(call).tokens()]
    call.output.table(
        {"tokens": [_public(one) for one in tokens]},
        ("name", "scope", "file"),
        [(Cell(one.name), Cell(one.scope), Cell(str(one.path))) for one in tokens],
        empty="no tokens; create one with: tokens create NAME --scope read",
    )
    return 0


def create_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the token's name: its user or purpose")
    parser.add_argument(
        "--scope",
        choices=_SCOPES,
        required=True,
        help="what it allows; each scope includes the ones before it",
    )
    _root_argument(parser)


def create(call: Call) -> int:
    """Create a token. A running server accepts it at once."""
    token = _token_store(call).create(call.arguments.name, call.arguments.scope)
    call.output.result(_public(token), f"a token of scope {token.scope} is in {token.path}")
    return 0


def revoke_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the token's name")
    _root_argument(parser)


def revoke(call: Call) -> int:
    """Revoke a token. A running server refuses it at once."""
    token = _token_store(call).revoke(call.arguments.name)
    call.output.result({**_public(token), "status": "revoked"}, f"token {token.name!r} is revoked")
    return 0


def _token_store(call: Call) -> "TokenStore":
    from posthouse.server.token_store import TokenStore

    runtime_root = (call.arguments.runtime_root or call.wiring.roots.runtime).absolute()
    return TokenStore(runtime_root / cf.SERVERS / cf.TOKENS)


def _public(one: "Token") -> dict[str, Any]:
    return {"name": one.name, "scope": one.scope, "path": str(one.path)}
