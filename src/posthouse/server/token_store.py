"""Named bearer tokens: a folder per scope, a file per token.

The folders are the only state: adding a file grants access, removing it revokes access.
"""

import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from posthouse.errors import Conflict, InvalidInput, NotFound
from posthouse.support import files
from posthouse.web import token
from posthouse.web.scopes import SCOPES, Scope

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Name, scope and file of a token; its value stays in the file."""

    name: str
    scope: Scope
    path: Path


class TokenStore:
    """The tokens below *root*."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def folders(self) -> list[Path]:
        return [self.root / scope for scope in SCOPES]

    def ensure(self) -> None:
        """Create missing folders, each with a default token.

        Raises:
            NoToken: The disk refused.
        """
        for folder in self.folders:
            is_new = not folder.exists()
            files.private_folder(folder)
            if is_new:
                token.create(folder / f"default-{folder.name}")

    def tokens(self) -> Iterator[Token]:
        """All tokens, sorted by scope and name."""
        for scope, folder in zip(SCOPES, self.folders, strict=True):
            names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
            for name in filter(_NAME.fullmatch, names):
                yield Token(name=name, scope=scope, path=folder / name)  # type: ignore[arg-type]  # of SCOPES

    def create(self, name: str, scope: Scope) -> Token:
        """Create a token. On disk when this returns.

        Raises:
            InvalidInput: *name* is invalid.
            Conflict: A token of that name exists; it is unchanged.
            NoToken: The disk refused.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"invalid token name {name!r}: use at most 64 letters, digits, dots and dashes",
                code="bad_token_name",
            )
        if (existing := self._find(name)) is not None:
            raise Conflict(
                f"token {name!r} of scope {existing.scope} already exists; revoke it first",
                code="token_taken",
            )
        made = Token(name=name, scope=scope, path=self.root / scope / name)
        files.private_folder(made.path.parent)
        token.create(made.path)
        return made

    def revoke(self, name: str) -> Token:
        """Delete a token and return it. The deletion is on disk when this returns.

        Raises:
            NotFound: No token has that name.
        """
        existing = self._find(name)
        if existing is None:
            raise NotFound(f"no token {name!r}", code="unknown_token")
        existing.path.unlink(missing_ok=True)
        files.sync_folder(existing.path.parent)
        return existing

    def _find(self, name: str) -> Token | None:
        return next((one for one in self.tokens() if one.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenScopes:
    """The scope of each token. Calling it maps an Authorization header to a scope."""

    #: Scope by token, in ascending order of scope.
    scopes: dict[bytes, Scope]

    def __call__(self, authorization: bytes) -> Scope | None:
        """The granted scope. Constant time: every token is compared."""
        scheme, _, given = authorization.partition(b" ")
        presented = given.strip(b" ")
        granted: Scope | None = None
        for known, scope in self.scopes.items():
            granted = scope if hmac.compare_digest(presented, known) else granted
        return granted if scheme.lower() == b"bearer" else None


def read_scopes(store: TokenStore) -> tuple[TokenScopes, list[str]]:
    """The usable tokens, and the problems of the others."""
    scopes: dict[bytes, Scope] = {}
    problems: list[str] = []
    for one in store.tokens():
        try:
            scopes[token.read(one.path)] = one.scope
        except token.NoToken as error:
            problems.append(str(error))
    return TokenScopes(scopes=scopes), problems
