"""Lock files that other programs know, and that die with their holder."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from posthouse.mailbox.filesystem import locks
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.transport import MailTransportError

_ADDRESS = "a@b"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A root with nothing but room for locks."""
    made = Root(tmp_path)
    made.address_locks.mkdir(parents=True)
    return made


def _is_free(root: Root) -> bool:
    try:
        with locks.hold(root, [_ADDRESS], index=True, wait_seconds=0.05):
            return True
    except MailTransportError:
        return False


def _ended_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_held_lock_is_a_file_that_names_its_holder_and_goes_with_it(root: Root) -> None:
    """Another program sees the contract's words; after the release there is nothing."""
    with locks.hold(root, [_ADDRESS], index=True):
        told = root.address_lock(_ADDRESS).read_text()
        assert told.startswith(f"pid={os.getpid()} acquired_at_utc=")
        assert root.index_lock.is_file()
        assert not _is_free(root)

    assert not root.address_lock(_ADDRESS).exists()
    assert not root.index_lock.exists()


def test_the_lock_of_a_killed_holder_is_taken_over_at_once(root: Root) -> None:
    """No pid is asked: the kernel dropped the flock."""
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from posthouse.mailbox.filesystem import locks\n"
        "from posthouse.mailbox.filesystem.layout import Root\n"
        f"with locks.hold(Root(Path(sys.argv[1])), [{_ADDRESS!r}], index=True):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(root.path)], check=False, timeout=60)
    assert root.index_lock.exists()

    assert _is_free(root)


def test_the_lock_of_another_program_is_kept_while_its_process_lives(root: Root) -> None:
    """A program that knows no flock is believed as long as it is there."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    root.address_lock(_ADDRESS).write_text(f"pid={os.getpid()} acquired_at_utc={now}")
    assert not _is_free(root)

    root.address_lock(_ADDRESS).write_text(f"pid={_ended_pid()} acquired_at_utc={now}")
    assert _is_free(root)


def test_a_pid_that_was_given_to_another_process_holds_nothing(root: Root) -> None:
    """The process that has the pid now began after the lock was taken."""
    root.address_lock(_ADDRESS).write_text(f"pid={os.getpid()} acquired_at_utc=2001-01-01T00:00:00Z")

    assert _is_free(root)


def test_an_empty_lock_is_waited_for_a_moment_and_then_taken_over(root: Root) -> None:
    """Somebody may be about to write into it, or may have died right there."""
    lock = root.address_lock(_ADDRESS)
    lock.touch()
    assert not _is_free(root)

    os.utime(lock, (1, 1))
    assert _is_free(root)


def test_whoever_waits_in_vain_is_told_who_holds_it(root: Root) -> None:
    """The message has the file and what its holder wrote."""
    with (
        locks.hold(root, [], index=True),
        pytest.raises(MailTransportError, match=rf"index\.lock was not free within 0 s: pid={os.getpid()} "),
        locks.hold(root, [], index=True, wait_seconds=0),
    ):
        pass
