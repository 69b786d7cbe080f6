"""The targets of one gateway on disk: whoever may write its folder decides what is run and called.

No route of the gateway can change them, so a caller who may give prompts can't make it run a command.
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


class TargetNotFound(NotFound):
    """There is no such target."""

    code = "target_not_found"

    def __init__(self, target_id: str) -> None:
        super().__init__(f"nobody is told by the name {target_id!r}; `notify list` shows who is")


class TooManyTargets(Conflict):
    """No more are kept; nothing was changed."""

    code = "too_many_targets"

    def __init__(self) -> None:
        super().__init__(f"at most {MAX_TARGETS} are told for one agent; remove one first")


class BadTarget(InvalidInput):
    """It can't be told like this; nothing was changed."""

    code = "bad_target"


class BadSecret(InvalidInput):
    """That is no secret to sign with."""

    code = "bad_secret"


class TargetFiles:
    """`notify/` of one gateway."""

    def __init__(self, gateway_root: Path) -> None:
        self.folder = gateway_root / tf.FOLDER

    def read(self) -> list[tf.Target]:
        """All targets.

        Raises:
            BadTarget: The file holds something else.
        """
        path = self.folder / tf.TARGETS
        try:
            return strict.decode(untrusted_files.read_own_bytes(path), tf.Targets).targets
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise BadTarget(f"{path} can't be read: {error}; mend or remove it") from error

    def stamp(self) -> tuple[int, int] | None:
        """Another value after every change; None while there is nothing."""
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
        """Keep a new target; a webhook gets *secret*, or a new one. On disk when this returns.

        Raises:
            BadTarget, TooManyTargets, BadSecret: Nothing was kept.
        """
        made = _checked(occasions, command, url, timeout_seconds)
        with self._changing() as known:
            if len(known) >= MAX_TARGETS:
                raise TooManyTargets
            if made.url is not None:
                content = _encoded(secrets.token_bytes(_SECRET_BYTES)) if secret is None else secret
                files.write_whole(self._secret_path(made.target_id), _fit(content) + b"\n", durable=True)
            self._write([*known, made])
        return made

    def remove(self, target_id: str) -> None:
        """Forget a target, its secret and its story.

        Raises:
            TargetNotFound: There is none.
        """
        with self._changing() as known:
            left = [target for target in known if target.target_id != target_id]
            if len(left) == len(known):
                raise TargetNotFound(target_id)
            self._write(left)
            for path in (self._secret_path(target_id), self._state_path(target_id)):
                path.unlink(missing_ok=True)

    def find(self, target_id: str) -> tf.Target:
        """One target.

        Raises:
            TargetNotFound: There is none.
        """
        for target in self.read():
            if target.target_id == target_id:
                return target
        raise TargetNotFound(target_id)

    def secret(self, target_id: str) -> bytes:
        """The key of a webhook.

        Raises:
            BadSecret: The file is missing, others may read it, or it holds something else.
        """
        path = self._secret_path(target_id)
        try:
            with open(path, "rb", opener=_open_itself) as stream:
                facts = os.fstat(stream.fileno())
                content = stream.read(_MAX_SECRET + 64).strip()
        except OSError as error:
            raise BadSecret(f"{path} can't be read: {error.strerror}") from error
        is_own = ownership.is_own(facts.st_uid) and not facts.st_mode & 0o077
        if not is_own or not stat.S_ISREG(facts.st_mode):
            raise BadSecret(f"{path} is not a file of this user alone; remove the target and add it again")
        return _key(_fit(content))

    def secret_path(self, target_id: str) -> Path:
        """Where the receiver's owner finds the secret."""
        return self._secret_path(target_id)

    def state(self, target_id: str) -> tf.TargetState | None:
        """How far it was told; None: it never was, or that is lost."""
        try:
            return strict.decode(untrusted_files.read_bytes(self._state_path(target_id)), tf.TargetState)
        except (FileNotFoundError, ValueError):
            return None

    def keep_state(self, target_id: str, state: tf.TargetState) -> None:
        # Not fsynced: what a power cut takes is told again.
        files.write_json(self._state_path(target_id), msgspec.to_builtins(state), durable=False)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[tf.Target]]:
        files.private_folder(self.folder)
        with locks.hold(self.folder / tf.LOCK, wait_seconds=_LOCK_SECONDS):
            yield self.read()

    def _write(self, targets: list[tf.Target]) -> None:
        wish = tf.Targets(targets=targets)
        files.write_json(self.folder / tf.TARGETS, msgspec.to_builtins(wish), durable=True)

    def _secret_path(self, target_id: str) -> Path:
        return self.folder / f"{target_id}.secret"

    def _state_path(self, target_id: str) -> Path:
        return self.folder / f"{target_id}.state.json"


def read_secret(path: Path) -> bytes:
    """The secret that a person keeps in *path*, to sign with.

    Raises:
        BadSecret: It can't be read, or is too short to be one.
    """
    try:
        return _fit(path.read_bytes()[: _MAX_SECRET + 64].strip())
    except OSError as error:
        raise BadSecret(f"{path} can't be read: {error.strerror}") from error


def _checked(
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
        raise BadTarget(f"that can't be told: {error}") from error


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadTarget(f"{url!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadTarget("a webhook is an http:// or https:// address with a host")
    if parts.username is not None or parts.password is not None:
        raise BadTarget("listings would show the password in that address; rely on the signature")
    if not url.isascii() or any(character.isspace() for character in url):
        raise BadTarget("write the address in ASCII, without blanks; percent-encode the rest")


def _encoded(key: bytes) -> bytes:
    return _PREFIX + base64.b64encode(key)


def _fit(content: bytes) -> bytes:
    if not _MIN_SECRET <= len(content) <= _MAX_SECRET:
        raise BadSecret(f"a secret has {_MIN_SECRET} to {_MAX_SECRET} characters")
    return content


def _key(content: bytes) -> bytes:
    """The key in a secret: `whsec_` and base64, as the receivers' libraries have it, or plain text."""
    if not content.startswith(_PREFIX):
        return content
    try:
        return base64.b64decode(content.removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise BadSecret("what follows whsec_ is not base64") from error


def _open_itself(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
