"""A network namespace in which this machine has an address beyond loopback, for those who listen there."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: An address for documentation; in the namespace it is this machine's own, and not loopback.
BEYOND = "198.51.100.1"

#: Gives the namespace's loopback a second address, says so, and holds the namespace until its stdin ends.
_NETWORK = f"""
import fcntl, socket, struct, sys
SET_ADDRESS, SET_FLAGS, UP_AND_RUNNING = 0x8916, 0x8914, 0x41
def address(text):
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
    for name, text in ((b"lo", "127.0.0.1"), (b"lo:1", "{BEYOND}")):
        fcntl.ioctl(plain, SET_ADDRESS, struct.pack("16s16s", name, address(text)))
        fcntl.ioctl(plain, SET_FLAGS, struct.pack("16sh14x", name, UP_AND_RUNNING))
print("up", flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True, slots=True)
class Network:
    """The namespace, for as long as its holder lives."""

    holder: int

    def command(self, *words: str) -> list[str]:
        """*words* as a command that runs inside."""
        return ["nsenter", f"--net=/proc/{self.holder}/ns/net", *words]


@contextmanager
def network() -> Iterator[Network]:
    """A namespace of its own. Needs the right to make one."""
    holder = subprocess.Popen(
        ["unshare", "--net", sys.executable, "-I", "-c", _NETWORK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "up\n"
        yield Network(holder.pid)
