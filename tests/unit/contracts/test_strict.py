"""Reading contracts from several threads."""

import subprocess
import sys
from pathlib import Path

import pytest

from posthouse.contracts import gateway_host as gh
from posthouse.contracts import strict

_AT_ONCE = """
import sys, threading
from pathlib import Path
from posthouse.sessions import session as sessions
from posthouse.testing.running_gateways import session_in

made = session_in(Path(sys.argv[1]))
sys.setswitchinterval(1e-6)
together = threading.Barrier(16)

def read():
    together.wait()
    assert sessions.read(made.manifest_path) == made

threads = [threading.Thread(target=read) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("alive")
"""


def test_the_first_reading_may_be_by_many_at_once(tmp_path: Path) -> None:
    """msgspec works a kind out at its first use; without our lock, two threads that do end the process."""
    done = subprocess.run(
        [sys.executable, "-c", _AT_ONCE, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "alive\n", "")


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a":' * 100_000, b'{"schema_version":' + b"[" * 100_000]
)
def test_endless_nesting_is_bad_input(content: bytes) -> None:
    """A ValueError like every other fault of the content, and no RecursionError."""
    with pytest.raises(ValueError):
        strict.parse(content)
    with pytest.raises(ValueError):
        strict.decode(content, gh.HostRegistryFile)
