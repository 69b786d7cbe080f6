"""The bearer token of remote callers: one line in a file.

It is created when a process first listens beyond loopback, and survives restarts. To replace it, remove the
file and start again.
"""

import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from posthouse.errors import Conflict
from posthouse.support import files, ownership
from posthouse.web.scopes import Authenticator

_BYTES = 32
_MAX_BYTES = 1024
#: The syntax of a bearer token, long enough not to be guessed.
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]{32,}=*")


class NoToken(Conflict):
    """No secret token is available, so no listener beyond loopback may start."""

    code = "no_token"


def load_or_create(path: Path) -> bytes:
    """The token in *path*, created when it is missing. On disk when this returns.

    Raises:
        NoToken: The disk refused it, others could have read or written it, or the file holds something else.
    """
    if not os.path.lexists(path):  # a broken link counts as existing, and is refused
        create(path)
    return read(path)


def authenticator(token: bytes) -> Authenticator:
    """The authenticator of a process with one token, of scope admin."""
    return lambda authorization: "admin" if is_valid(token, authorization) else None


def is_valid(token: bytes, authorization: bytes) -> bool:
    """Whether the Authorization header contains *token*. Compares in constant time."""
    scheme, _, given = authorization.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(b" "), token)


def create(path: Path) -> None:
    """Write a new token to *path*. On disk when this returns.

    Raises:
        NoToken: The disk refused it.
    """
    token = secrets.token_urlsafe(_BYTES).encode()
    try:
        files.write_whole(path, token + b"\n", durable=True)
    except OSError as error:
        raise NoToken(
            f"{path}, the token for callers elsewhere, can't be written: {error.strerror}"
        ) from error


def read(path: Path) -> bytes:
    """The token in *path*.

    Raises:
        NoToken: Others could have read or written it, or the file holds something else.
    """
    try:
        with open(path, "rb", opener=_open_itself) as stream:
            facts = os.fstat(stream.fileno())
            content = stream.read(_MAX_BYTES + 1).strip()
    except OSError as error:
        raise _unusable(path, f"can't be read as a file of its own ({error.strerror})") from error
    if not ownership.is_own(facts.st_uid) or facts.st_mode & 0o077 or not stat.S_ISREG(facts.st_mode):
        raise _unusable(path, "is not a file of this user alone")
    if len(content) > _MAX_BYTES or not _TOKEN.fullmatch(content):
        raise _unusable(path, "does not hold a token of 32 characters or more")
    return content


def _open_itself(path: str, flags: int) -> int:
    """Open *path* without following links or blocking on a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _unusable(path: Path, fault: str) -> NoToken:
    return NoToken(f"{path} {fault}; remove it and start again to get a new token")
