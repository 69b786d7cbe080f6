"""Which project overlays this user trusts, and which folders may hold state.

State can cause commands to run: notification targets, hosted gateways, tokens. A cloned repository can ship
an overlay with all of them, and another user can create one in a shared parent folder. So a discovered
overlay is used only when this user owns it and has trusted it once. The trust record is stored in the
user's configuration folder. It holds the overlay's path and a random id that is also written into the
overlay, so it is valid neither for a copy elsewhere nor for another overlay at the same path. State that
git tracks is refused even there: a `git pull` could add more.
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
#: The state folders of an overlay. They must not be committed to a repository.
_STATE = ("runtime", "mailbox", "jobs")
_GITIGNORE = "".join(f"/{name}/\n" for name in _STATE) + f"/{_ID_FILE}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedOverlay:
    """One record of trust."""

    overlay: Path
    #: False when the overlay is gone, or another one took its place.
    is_current: bool


def check_folder(folder: Path, *, follow_link: bool) -> None:
    """Accept *folder* when it is missing, or when only this user and root can change it.

    Raises:
        Denied: Others can change it; the message says what to do.
    """
    try:
        found = folder.stat() if follow_link else folder.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise Denied(f"{folder} is a symbolic link; state needs a real folder", code="unsafe_folder")
    if not stat.S_ISDIR(found.st_mode):
        raise Denied(f"{folder} is not a folder", code="unsafe_folder")
    if (problem := ownership.problem(folder, found)) is not None:
        raise Denied(problem, code="unsafe_folder")


def check_overlay(overlay: Path) -> None:
    """Accept *overlay* when only this user can change it and its state folders.

    Raises:
        Denied: Others can change one of them.
    """
    for folder in (overlay, *(overlay / name for name in _STATE)):
        check_folder(folder, follow_link=False)


def check_not_tracked(overlay: Path) -> None:
    """Accept *overlay* when no repository tracks its state: a `git pull` could change tracked state.

    Raises:
        Denied: A repository tracks state, or its index can't be read.
    """
    tracked = [path.relative_to(overlay) for path in git_index.tracked_below(overlay)]
    state = [path for path in tracked if path.parts[0] in (*_STATE, _ID_FILE)]
    if state:
        more = f" and {len(state) - 1} more" if len(state) > 1 else ""
        tops = " ".join(sorted({path.parts[0] for path in state}))
        raise Denied(
            f"git tracks state of the project overlay {overlay}: {state[0]}{more}. What others commit there "
            f"could run commands as you. See what it holds, then run: "
            f"cd {shlex.quote(str(overlay))} && git rm -r --cached {tops}, and remove or keep the files",
            code="tracked_state",
        )


def require_trust(overlay: Path, anchor: Path) -> None:
    """Accept *overlay* when this user has trusted it; *anchor* is the user's configuration folder.

    Raises:
        Denied: The user has not trusted it, others can change it, or a `git pull` could change its state.
    """
    check_overlay(overlay)
    if not _is_trusted(overlay, _record_path(overlay, anchor)):
        raise Denied(
            f"the project overlay {overlay} is not trusted: it may come with a cloned repository, and what "
            f"is in it can run commands as you. If it is yours, run: posthouse project trust {overlay.parent}"
            f" - to ignore it, set {names.RUNTIME_DIR} and {names.MAILBOX_DIR}.",
            code="untrusted_overlay",
        )
    check_not_tracked(overlay)


def trust(overlay: Path, anchor: Path) -> None:
    """Record that this user trusts *overlay*. A second call changes nothing.

    Raises:
        NotFound: There is no overlay.
        Denied: Others can change it, or a `git pull` could change its state.
    """
    if not (overlay / names.OVERLAY_CONFIG).is_file():
        raise NotFound(f"{overlay} is not a project overlay: it has no {names.OVERLAY_CONFIG}")
    check_overlay(overlay)
    check_not_tracked(overlay)
    keep_state_out_of_git(overlay)
    record = _record_path(overlay, anchor)
    if _is_trusted(overlay, record):
        return
    import secrets  # every command imports this module, few of them get here

    # An id that exists already is not reused: a repository could ship one that its author knows.
    trust_id = secrets.token_hex(16)
    files.private_folder(record.parent)
    files.write_whole(overlay / _ID_FILE, trust_id.encode(), durable=True)
    files.write_json(record, {"overlay": str(overlay), "trust_id": trust_id}, durable=True)


def untrust(overlay: Path, anchor: Path) -> None:
    """Remove the trust record of *overlay*; its files stay.

    Raises:
        NotFound: It was not trusted.
    """
    try:
        _record_path(overlay, anchor).unlink()
    except FileNotFoundError:
        raise NotFound(f"{overlay} is not trusted") from None


def list_trusted(anchor: Path) -> list[TrustedOverlay]:
    """Every trust record, sorted by path."""
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
    """The id in *path*; empty when it is no regular file."""
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
