import os
import subprocess
import sys
from pathlib import Path

import pytest

from posthouse.support import locks

_HOLDER = """
import sys
from pathlib import Path
from posthouse.support import locks
with locks.hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_told_who_holds_it(tmp_path: Path) -> None:
    """While one process holds a lock, another is refused with the holder's pid."""
    path = tmp_path / "agent.lock"

    with locks.hold(path), pytest.raises(locks.LockHeld) as refused, locks.hold(path):
        pass

    assert refused.value.holder == str(os.getpid())


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """After kill -9 of the holder the next one gets the lock at once."""
    path = tmp_path / "agent.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(locks.LockHeld), locks.hold(path):
        pass

    holder.kill()
    holder.communicate()

    with locks.hold(path):
        assert path.read_text() == str(os.getpid())
