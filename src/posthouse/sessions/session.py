"""A session: its folder and its manifest, the one authority."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import names, strict
from posthouse.contracts.manifest import Manifest
from posthouse.errors import Conflict, NotFound
from posthouse.support import files, locks, untrusted_files
from posthouse.support.untrusted_files import UnsafeFile
from posthouse.terminal.client import Server, Tmux

#: Key in `backend_state` for the socket of the session's tmux server.
TMUX_SOCKET = "tmux_socket"
_UPDATE_WAIT_SECONDS = 5.0


class SessionNotFound(NotFound):
    """There is no manifest at that path."""

    code = "session_not_found"


class BadManifest(Conflict):
    """The manifest can't be read or does not match schema 4."""

    code = "bad_manifest"


@dataclass(frozen=True, slots=True)
class Session:
    """One session, a snapshot of its manifest."""

    root: Path
    manifest: Manifest

    @property
    def manifest_path(self) -> Path:
        return self.root / names.MANIFEST_FILE

    @property
    def gateway_root(self) -> Path:
        return self.root / "gateway"

    @property
    def turns_root(self) -> Path:
        return self.root / names.TURN_ARTIFACTS

    @property
    def pane_lock(self) -> Path:
        """The lock held while typing into the agent's pane."""
        return self.root / "pane.lock"

    @property
    def session_id(self) -> str:
        return self.manifest.runtime.session_id or self.root.name

    @property
    def agent_name(self) -> str:
        return self.manifest.agent_name or self.root.name

    @property
    def agent_id(self) -> str:
        return self.manifest.agent_id or self.root.name

    @property
    def tmux_session_name(self) -> str:
        return self.manifest.tmux_session_name or ""

    @property
    def tmux(self) -> Tmux:
        """The session's tmux server, which may differ from the caller's."""
        socket = self.manifest.backend_state.get(TMUX_SOCKET)
        return Tmux(Server(socket if isinstance(socket, str) else None))

    @property
    def runtime_root(self) -> Path:
        return self.root.parents[2]


def read(manifest_path: Path) -> Session:
    """Read a session.

    Raises:
        SessionNotFound: The file does not exist.
        BadManifest: The file can't be read or does not match schema 4; the message names the field.
    """
    try:
        content = untrusted_files.read_own_bytes(manifest_path)
    except (FileNotFoundError, NotADirectoryError):
        raise SessionNotFound(f"there is no manifest at {manifest_path}") from None
    except OSError as error:
        raise BadManifest(f"{manifest_path} can't be read: {error.strerror}") from error
    except UnsafeFile as error:
        raise BadManifest(str(error)) from error
    try:
        return Session(manifest_path.parent, strict.decode(content, Manifest))
    except ValueError as error:
        raise BadManifest(f"{manifest_path} can't be used: {error}") from error


def write(root: Path, manifest: Manifest) -> Session:
    """Replace the manifest durably."""
    files.write_json(root / names.MANIFEST_FILE, strict.plain(manifest), durable=True)
    return Session(root, manifest)


def update(session: Session, change: Callable[[Manifest], Manifest]) -> Session:
    """Apply *change* to the current manifest under a lock, so that concurrent writers lose no change.

    Raises:
        SessionNotFound, BadManifest: As for `read`.
        LockHeld: Another writer held the lock too long.
    """
    with locks.hold(session.root / "manifest.lock", wait_seconds=_UPDATE_WAIT_SECONDS):
        current = read(session.manifest_path)
        changed = change(current.manifest)
        return current if changed == current.manifest else write(session.root, changed)
