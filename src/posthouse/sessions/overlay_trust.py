"""Which project overlays this user trusts, and which folders may hold state at all.

State can make us run commands: notification targets, hosted gateways, tokens. A cloned repository can ship
an overlay with all of them, and another user can put one into a shared parent folder. So a discovered
overlay is used only when it belongs to this user and when this user has said once that it is theirs. The
record of that is kept in the user's own configuration folder. It names the overlay's path and a random id
that is written into the overlay, so that it holds neither for a copy elsewhere nor for another overlay at
the same path. State that git tracks is refused even there: a `git pull` would bring more of it.
"""

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from posthouse.contracts import names
from posthouse.errors import Denied, NotFound
from posthouse.sessions import git_index
from posthouse.support import files, ownership, untrusted_files

_RECORDS = "trusted-overlays"
_ID_FILE = "posthouse-trust-id"
_MAX_ID_BYTES = 200
#: What holds state in an overlay. None of it belongs into a repository.
_STATE = ("runtime", "mailbox", "jobs")
_GITIGNORE = "".join(f"/{name}/\n" for name in _STATE) + f"/{_ID_FILE}\n"


class UnsafeFolder(Denied):
    """A folder of state belongs to another user, can be written by others, or is a link."""

    code = "unsafe_folder"


class TrackedState(Denied):
    """A git repository tracks files of an overlay's state."""

    code = "tracked_state"


class UntrustedOverlay(Denied):
    """The overlay was not made or trusted by this user."""

    code = "untrusted_overlay"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedOverlay:
    """One record of trust."""

    overlay: Path
    #: False when the overlay is gone, or another one took its place.
    is_current: bool


def check_folder(folder: Path, *, follow_link: bool) -> None:
    """Accept *folder* when it is missing, or when only this user and root can change it.

    Raises:
        UnsafeFolder: It is not so; the message says what to do.
    """
    try:
        found = folder.stat() if follow_link else folder.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise UnsafeFolder(f"{folder} is a symbolic link; state is only kept in a real folder")
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolder(f"{folder} is not a folder")
    if (problem := ownership.problem(folder, found)) is not None:
        raise UnsafeFolder(problem)


def check_overlay(overlay: Path) -> None:
    """Accept *overlay* when only this user can change it and the folders of state in it.

    Raises:
        UnsafeFolder: It is not so.
    """
    for folder in (overlay, *(overlay / name for name in _STATE)):
        check_folder(folder, follow_link=False)


def check_not_tracked(overlay: Path) -> None:
    """Accept *overlay* when no repository tracks its state, which a `git pull` could then add to or change.

    Raises:
        TrackedState: One does.
        UnreadableIndex: It is not known whether one does.
    """
    tracked = [path.relative_to(overlay) for path in git_index.tracked_below(overlay)]
    state = [path for path in tracked if path.parts[0] in (*_STATE, _ID_FILE)]
    if state:
        more = f" and {len(state) - 1} more" if len(state) > 1 else ""
        tops = " ".join(sorted({path.parts[0] for path in state}))
        raise TrackedState(
            f"git tracks state of the project overlay {overlay}: {state[0]}{more}. What others commit there "
            f"could run commands as you. See what it holds, then run: "
            f"cd {shlex.quote(str(overlay))} && git rm -r --cached {tops}, and remove or keep the files"
        )


def require_trust(overlay: Path, anchor: Path) -> None:
    """Accept *overlay* when this user has trusted it; *anchor* is the user's configuration folder.

    Raises:
        UnsafeFolder: Others can change it.
        UntrustedOverlay: The user has not said that it is theirs.
        TrackedState, UnreadableIndex: A `git pull` could change its state.
    """
    check_overlay(overlay)
    if not _is_trusted(overlay, _record_path(overlay, anchor)):
        raise UntrustedOverlay(
            f"the project overlay {overlay} is not trusted: it may come with a cloned repository, and what "
            f"is in it can run commands as you. If it is yours, run: posthouse project trust {overlay.parent}"
            f" - to ignore it, set {names.RUNTIME_DIR} and {names.MAILBOX_DIR}."
        )
    check_not_tracked(overlay)


def trust(overlay: Path, anchor: Path) -> None:
    """Record that *overlay* is this user's own. A second call changes nothing.

    Raises:
        NotFound: There is no overlay.
        UnsafeFolder: Others can change it.
        TrackedState, UnreadableIndex: A `git pull` could change its state.
    """
    if not (overlay / names.OVERLAY_CONFIG).is_file():
        raise NotFound(f"{overlay} is not a project overlay: it has no {names.OVERLAY_CONFIG}")
    check_overlay(overlay)
    check_not_tracked(overlay)
    keep_state_out_of_git(overlay)
    record = _record_path(overlay, anchor)
    if _is_trusted(overlay, record):
        return
    import secrets  # every command starts through this module, few of them come here

    # Never the id that lies there: a repository could ship one that its author knows.
    trust_id = secrets.token_hex(16)
    files.private_folder(record.parent)
    files.write_whole(overlay / _ID_FILE, trust_id.encode(), durable=True)
    files.write_json(record, {"overlay": str(overlay), "trust_id": trust_id}, durable=True)


def untrust(overlay: Path, anchor: Path) -> None:
    """Forget that *overlay* is trusted; its files stay.

    Raises:
        NotFound: It was not trusted.
    """
    try:
        _record_path(overlay, anchor).unlink()
    except FileNotFoundError:
        raise NotFound(f"{overlay} is not trusted") from None


def listed(anchor: Path) -> list[TrustedOverlay]:
    """Every record, in the order of the paths."""

    found = []
    for record in (anchor / _RECORDS).glob("*.json"):
        overlay = Path(untrusted_files.read_own_json(record)["overlay"])
        found.append(TrustedOverlay(overlay=overlay, is_current=_is_trusted(overlay, record)))
    return sorted(found, key=lambda one: one.overlay)


def keep_state_out_of_git(overlay: Path) -> None:
    """Write the overlay's `.gitignore`, unless there is one."""
    ignored = overlay / ".gitignore"
    if not os.path.lexists(ignored):
        files.write_whole(ignored, _GITIGNORE.encode(), durable=False, mode=0o644)


def _record_path(overlay: Path, anchor: Path) -> Path:
    import hashlib

    return anchor / _RECORDS / f"{hashlib.sha256(os.fsencode(overlay)).hexdigest()[:32]}.json"


def _is_trusted(overlay: Path, record: Path) -> bool:

    try:
        kept = untrusted_files.read_own_json(record)
    except FileNotFoundError:
        return False
    found = _read_id(overlay / _ID_FILE)
    return bool(found) and kept == {"overlay": str(overlay), "trust_id": found}


def _read_id(path: Path) -> str:
    """The id in *path*; empty when there is no regular file of that name."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, _MAX_ID_BYTES).decode(errors="replace")
    finally:
        os.close(descriptor)
