"""Ownership checks: a trusted file or folder must be writable by this user and root only.

A file that others can write could name a command that then runs as this user.
"""

import os
import shlex
import stat
from functools import cache
from pathlib import Path

#: What `uid_map` holds where every uid is itself: outside of user namespaces.
_ALL_UIDS = ["0", "0", "4294967295"]
_DEFAULT_OVERFLOW_UID = 65534


def is_own(uid: int) -> bool:
    """Whether *uid* is this user or root.

    In a user namespace the kernel maps every unmapped user to one uid (normally 65534), which therefore never
    counts as this user.
    """
    return uid in (0, os.geteuid()) and uid != _anonymous_uid()


def problem(path: Path, facts: os.stat_result) -> str | None:
    """Why another user could have written *path*, whose status is *facts*; None when none could."""
    if not is_own(facts.st_uid):
        return (
            f"{path} belongs to user {facts.st_uid}, not to you; what is in it could run commands as you. "
            f"If it is yours, run: sudo chown {os.geteuid()} {shlex.quote(str(path))}"
        )
    writers = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if writers & stat.S_IWGRP and is_private_group(facts.st_gid):
        writers &= ~stat.S_IWGRP
    if writers:
        return f"{path} can be written by other users; run: chmod go-w {shlex.quote(str(path))}"
    return None


def folder_problem(path: Path) -> str | None:
    """As `problem`, for the folder of a trusted file. A sticky bit, as on `/tmp`, is enough.

    That bit keeps other users from replacing our files in it; their own files are refused by owner.
    """
    facts = path.stat()
    return None if facts.st_mode & stat.S_ISVTX else problem(path, facts)


def is_private_group(gid: int) -> bool:
    """Whether *gid* is this user's private group, as distributions with umask 002 create."""
    import grp  # only where a file is open to its group
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    is_named_so = user.pw_gid == gid and group.gr_name == user.pw_name
    return is_named_so and set(group.gr_mem) <= {user.pw_name}


@cache  # neither changes while a process runs
def _anonymous_uid() -> int | None:
    """The overflow uid, which unmapped users share; None outside of user namespaces."""
    try:
        if Path("/proc/self/uid_map").read_text().split() == _ALL_UIDS:
            return None
        return int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return _DEFAULT_OVERFLOW_UID
