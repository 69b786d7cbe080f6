"""Named tokens by what they allow: a folder per scope, a file per token.

The folders are the whole truth: a file that is added opens the door, one that is removed closes it.
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


class BadTokenName(InvalidInput):
    """No file could be called that."""

    code = "bad_token_name"


class TokenTaken(Conflict):
    """There is one of that name; it was not touched."""

    code = "token_taken"


class UnknownToken(NotFound):
    """There is none of that name."""

    code = "unknown_token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Where a token lies. What it is stays in its file."""

    name: str
    scope: Scope
    path: Path


class Keyring:
    """The tokens below *root*."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def folders(self) -> list[Path]:
        return [self.root / scope for scope in SCOPES]

    def provide(self) -> None:
        """Have the folders, and a first token of each scope where there is no folder yet.

        Raises:
            NoToken: The disk refused them.
        """
        for folder in self.folders:
            is_new = not folder.exists()
            files.private_folder(folder)
            if is_new:
                token.make(folder / f"default-{folder.name}")

    def listed(self) -> Iterator[Token]:
        """Every token, by scope and name."""
        for scope, folder in zip(SCOPES, self.folders, strict=True):
            names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
            for name in filter(_NAME.fullmatch, names):
                yield Token(name=name, scope=scope, path=folder / name)  # type: ignore[arg-type]  # of SCOPES

    def create(self, name: str, scope: Scope) -> Token:
        """A new token. On disk when this returns.

        Raises:
            BadTokenName, TokenTaken: It can't be called that.
            NoToken: The disk refused it.
        """
        if not _NAME.fullmatch(name):
            raise BadTokenName(f"{name!r} is no name of a token: letters, digits, dots, dashes, at most 64")
        if (there := self._find(name)) is not None:
            raise TokenTaken(f"there is a token {name!r} of scope {there.scope}; revoke it first")
        made = Token(name=name, scope=scope, path=self.root / scope / name)
        files.private_folder(made.path.parent)
        token.make(made.path)
        return made

    def revoke(self, name: str) -> Token:
        """The token that no longer opens anything.

        Raises:
            UnknownToken: There is none.
        """
        there = self._find(name)
        if there is None:
            raise UnknownToken(f"there is no token {name!r}")
        there.path.unlink(missing_ok=True)
        files.sync_folder(there.path.parent)
        return there

    def _find(self, name: str) -> Token | None:
        return next((one for one in self.listed() if one.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """What each token allows. As a function, what an Authorization header proves."""

    #: Scope by token; the largest scope last.
    scopes: dict[bytes, Scope]

    def __call__(self, authorization: bytes) -> Scope | None:
        """Takes as long for any wrong token: every one is compared."""
        scheme, _, given = authorization.partition(b" ")
        shown = given.strip(b" ")
        granted: Scope | None = None
        for known, scope in self.scopes.items():
            granted = scope if hmac.compare_digest(shown, known) else granted
        return granted if scheme.lower() == b"bearer" else None


def read(keyring: Keyring) -> tuple[Proofs, list[str]]:
    """The tokens that are fit to be shown, and what is wrong with the others."""
    scopes: dict[bytes, Scope] = {}
    problems: list[str] = []
    for one in keyring.listed():
        try:
            scopes[token.read(one.path)] = one.scope
        except token.NoToken as error:
            problems.append(str(error))
    return Proofs(scopes=scopes), problems
