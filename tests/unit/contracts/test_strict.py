"""Reading contracts from several threads."""

import subprocess
import sys

_AT_ONCE = """
import threading
from posthouse.contracts import gateway_files, manifest, registry, strict

kinds = [manifest.Manifest, registry.Record, gateway_files.Attach, gateway_files.CurrentInstance]
together = threading.Barrier(16)

def read(kind):
    together.wait()
    for use in (strict.convert, strict.decode):
        try:
            use({} if use is strict.convert else b"{}", kind)
        except ValueError:
            pass

threads = [threading.Thread(target=read, args=(kinds[number % 4],)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("alive")
"""


def test_the_first_reading_may_be_by_many_at_once() -> None:
    """msgspec works a kind out when it is first used; without our lock that ends the process."""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _AT_ONCE], capture_output=True, text=True, check=False)

        assert (done.returncode, done.stdout) == (0, "alive\n")
