"""The notification targets of one gateway on disk. Write access to the folder decides what is run and called.

No route of the gateway can change them, so a caller with prompt access can't make it run a command.
"""

import base64
import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from posthouse.contracts import notification_files as tf
from posthouse.contracts import strict
from posthouse.errors import Conflict, InvalidInput, NotFound
from posthouse.support import clock, files, ids, locks, ownership, untrusted_files

MAX_TARGETS = 16
_LOCK_SECONDS = 5.0
_SECRET_BYTES = 32
_MIN_SECRET, _MAX_SECRET = 16, 1024
_PREFIX = b"whsec_"


class TargetFiles:
    """`notify/` of one gateway."""

    def __init__(self, gateway_root: Path) -> None:
        self.folder = gateway_root / tf.FOLDER

    def read(self) -> list[tf.Target]:
        """All targets.

        Raises:
            InvalidInput: `bad_target`: the file is invalid.
        """
        path = self.folder / tf.TARGETS
        try:
            return strict.decode(untrusted_files.read_own_bytes(path), tf.Targets).targets
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise _bad_target(f"{path} can't be read: {error}; repair or remove it") from error

    def stamp(self) -> tuple[int, int] | None:
        """A value that differs after every change; None without targets."""
        try:
            facts = (self.folder / tf.TARGETS).stat()
        except FileNotFoundError:
            return None
        return facts.st_ino, facts.st_mtime_ns

    def add(
        self,
        occasions: list[tf.Occasion],
        *,
        command: list[str] | None = None,
        url: str | None = None,
        timeout_seconds: float = 30.0,
        secret: bytes | None = None,
    ) -> tf.Target:
        """Add a target; a webhook gets *secret*, or a new one. On disk when this returns.

        Raises:
            InvalidInput: `bad_target` or `bad_secret`; nothing was stored.
            Conflict: `too_many_targets`; nothing was stored.
        """
        target = _build_target(occasions, command, url, timeout_seconds)
        with self._locked() as known:
            if len(known) >= MAX_TARGETS:
                raise Conflict(
                    f"at most {MAX_TARGETS} targets per agent; remove one first", code="too_many_targets"
                )
            if target.url is not None:
                content = _encode(secrets.token_bytes(_SECRET_BYTES)) if secret is None else secret
                files.write_whole(
                    self._secret_path(target.target_id), _check_length(content) + b"\n", durable=True
                )
            self._write([*known, target])
        return target

    def remove(self, target_id: str) -> None:
        """Delete a target, its secret and its delivery state.

        Raises:
            NotFound: `target_not_found`.
        """
        with self._locked() as known:
            left = [target for target in known if target.target_id != target_id]
            if len(left) == len(known):
                raise _not_found(target_id)
            self._write(left)
            for path in (self._secret_path(target_id), self._state_path(target_id)):
                path.unlink(missing_ok=True)

    def find(self, target_id: str) -> tf.Target:
        """One target.

        Raises:
            NotFound: `target_not_found`.
        """
        for target in self.read():
            if target.target_id == target_id:
                return target
        raise _not_found(target_id)

    def secret(self, target_id: str) -> bytes:
        """The signing key of a webhook.

        Raises:
            InvalidInput: `bad_secret`: the file is missing, readable by others, or invalid.
        """
        path = self._secret_path(target_id)
        try:
            with open(path, "rb", opener=_open_nofollow) as stream:
                facts = os.fstat(stream.fileno())
                content = stream.read(_MAX_SECRET + 64).strip()
        except OSError as error:
            raise _bad_secret(f"{path} can't be read: {error.strerror}") from error
        is_own = ownership.is_own(facts.st_uid) and not facts.st_mode & 0o077
        if not is_own or not stat.S_ISREG(facts.st_mode):
            raise _bad_secret(f"{path} is not private to this user; remove the target and add it again")
        return _decode_key(_check_length(content))

    def secret_path(self, target_id: str) -> Path:
        """The file of the secret, for the owner of the receiver."""
        return self._secret_path(target_id)

    def state(self, target_id: str) -> tf.TargetState | None:
        """The delivery state of a target; None if there is none, or it is unreadable."""
        try:
            return strict.decode(untrusted_files.read_bytes(self._state_path(target_id)), tf.TargetState)
        except (FileNotFoundError, ValueError):
            return None

    def save_state(self, target_id: str, state: tf.TargetState) -> None:
        # Not fsynced: notices whose state a power cut loses are delivered again.
        files.write_json(self._state_path(target_id), msgspec.to_builtins(state), durable=False)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[list[tf.Target]]:
        files.private_folder(self.folder)
        with locks.hold(self.folder / tf.LOCK, wait_seconds=_LOCK_SECONDS):
            yield self.read()

    def _write(self, targets: list[tf.Target]) -> None:
        content = tf.Targets(targets=targets)
        files.write_json(self.folder / tf.TARGETS, msgspec.to_builtins(content), durable=True)

    def _secret_path(self, target_id: str) -> Path:
        return self.folder / f"{target_id}.secret"

    def _state_path(self, target_id: str) -> Path:
        return self.folder / f"{target_id}.state.json"


def read_secret(path: Path) -> bytes:
    """The user's signing secret in *path*.

    Raises:
        InvalidInput: `bad_secret`: it can't be read, or has the wrong length.
    """
    try:
        return _check_length(path.read_bytes()[: _MAX_SECRET + 64].strip())
    except OSError as error:
        raise _bad_secret(f"{path} can't be read: {error.strerror}") from error


def _build_target(
    occasions: list[tf.Occasion], command: list[str] | None, url: str | None, timeout_seconds: float
) -> tf.Target:
    if url is not None:
        _check_url(url)
    fields = {
        "target_id": f"tell-{ids.hex_id(8)}",
        "occasions": occasions,
        "command": command,
        "url": url,
        "timeout_seconds": timeout_seconds,
        "created_at_utc": clock.iso_seconds(clock.now()),
    }
    try:
        return strict.convert(fields, tf.Target)
    except ValueError as error:
        raise _bad_target(f"invalid target: {error}") from error


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _bad_target(f"invalid URL {url!r}: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise _bad_target("a webhook URL must be http:// or https:// with a host")
    if parts.username is not None or parts.password is not None:
        raise _bad_target("listings would show the password in that URL; rely on the signature")
    if not url.isascii() or any(character.isspace() for character in url):
        raise _bad_target("a webhook URL must be ASCII without blanks; percent-encode the rest")


def _encode(key: bytes) -> bytes:
    return _PREFIX + base64.b64encode(key)


def _check_length(content: bytes) -> bytes:
    if not _MIN_SECRET <= len(content) <= _MAX_SECRET:
        raise _bad_secret(f"a secret must have {_MIN_SECRET} to {_MAX_SECRET} characters")
    return content


def _decode_key(content: bytes) -> bytes:
    """The key in a secret: `whsec_` and base64, as in Standard Webhooks libraries, or plain text."""
    if not content.startswith(_PREFIX):
        return content
    try:
        return base64.b64decode(content.removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise _bad_secret("the part after whsec_ is not base64") from error


def _not_found(target_id: str) -> NotFound:
    return NotFound(f"no target {target_id!r}; `notify list` shows all", code="target_not_found")


def _bad_target(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_target")


def _bad_secret(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_secret")


def _open_nofollow(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
