"""The token that peers beyond loopback show: one line in a file.

It is made when a process first listens beyond loopback, and kept, so that callers go on after a restart.
To get another one, remove the file and start again.
"""

import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from posthouse.errors import Conflict
from posthouse.support import files, ownership
from posthouse.web.scopes import Proof

_BYTES = 32
_MAX_BYTES = 1024
#: What an Authorization header can carry, and too long to be guessed.
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]{32,}=*")


class NoToken(Conflict):
    """There is no token that only its owner knows, so there must be no listener beyond loopback."""

    code = "no_token"


def provide(path: Path) -> bytes:
    """The token in *path*, made if there is none. On disk when this returns.

    Raises:
        NoToken: The disk refused it, others could have read or written it, or the file holds something else.
    """
    if not os.path.lexists(path):  # a broken link is not nothing
        make(path)
    return read(path)


def proof(token: bytes) -> Proof:
    """For a process with one token, which allows everything."""
    return lambda authorization: "admin" if is_shown(token, authorization) else None


def is_shown(token: bytes, authorization: bytes) -> bool:
    """Whether *authorization*, the value of that header, shows *token*. Takes as long for any wrong one."""
    scheme, _, given = authorization.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(b" "), token)


def make(path: Path) -> None:
    """Write a new token to *path*. On disk when this returns.

    Raises:
        NoToken: The disk refused it.
    """
    made = secrets.token_urlsafe(_BYTES).encode()
    try:
        files.write_whole(path, made + b"\n", durable=True)
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
        raise _unfit(path, f"can't be read as a file of its own ({error.strerror})") from error
    if not ownership.is_own(facts.st_uid) or facts.st_mode & 0o077 or not stat.S_ISREG(facts.st_mode):
        raise _unfit(path, "is not a file of this user alone")
    if len(content) > _MAX_BYTES or not _TOKEN.fullmatch(content):
        raise _unfit(path, "does not hold a token of 32 characters or more")
    return content


def _open_itself(path: str, flags: int) -> int:
    """Open *path* and nothing it links to, without waiting for a pipe's other end."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _unfit(path: Path, fault: str) -> NoToken:
    return NoToken(f"{path} {fault}; remove it and start again to get a new token")
