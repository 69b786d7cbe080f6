"""Who is at the other end."""

import os
import socket
import struct
from collections.abc import Iterator

import pytest

from posthouse.support import peers

Address = tuple[str, int]
Pair = tuple[socket.socket, socket.socket, Address, Address]

ENDS = struct.pack("!HH4s12x4s12x", 40000, 43123, b"\x7f\0\0\1", b"\x7f\0\0\1")
OTHER_PORT = struct.pack("!HH4s12x4s12x", 40001, 43123, b"\x7f\0\0\1", b"\x7f\0\0\1")
OTHER_ADDRESS = struct.pack("!HH4s12x4s12x", 40000, 43123, b"\x7f\0\0\2", b"\x7f\0\0\1")
_MAPPED = bytes(10) + b"\xff\xff"
MAPPED = struct.pack("!HH", 40000, 43123) + 2 * (_MAPPED + b"\x7f\0\0\1")
OTHER_MAPPED = struct.pack("!HH", 40000, 43123) + _MAPPED + b"\x7f\0\0\2" + _MAPPED + b"\x7f\0\0\1"
FOUND, FAILED = 20, 2
ESTABLISHED, FIN_WAIT, TIME_WAIT, LISTEN = 1, 5, 6, 10


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A caller, the connection that was accepted from it, and the addresses of both."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        caller = socket.create_connection(listener.getsockname())
        served, peer = listener.accept()
        with caller, served:
            yield caller, served, peer, served.getsockname()


def test_a_standing_connection_is_its_users(pair: Pair) -> None:
    """Our own connection is ours."""
    _, _, peer, here = pair

    assert peers.uid_of(peer, here) == os.getuid()


def test_an_ipv6_socket_to_a_mapped_address_is_its_users() -> None:
    """Java connects to 127.0.0.1 from an IPv6 socket."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_INET6) as caller,
    ):
        caller.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        served, peer = listener.accept()
        with served:
            assert peers.uid_of(peer, served.getsockname()) == os.getuid()


def test_a_closed_peer_is_nobody(pair: Pair) -> None:
    """The kernel says user 0 of what no process holds any more."""
    caller, _, peer, here = pair
    caller.close()

    assert peers.uid_of(peer, here) is None


def test_a_peer_that_stopped_sending_is_its_users(pair: Pair) -> None:
    """Somebody still holds it, to hear the answer."""
    caller, _, peer, here = pair
    caller.shutdown(socket.SHUT_WR)

    assert peers.uid_of(peer, here) == os.getuid()


def test_a_connection_that_never_was_is_nobodys(pair: Pair) -> None:
    """Not the listener's, which the kernel offers for it."""
    *_, here = pair

    assert peers.uid_of(("127.0.0.1", 1), here) is None


def answer(*, kind: int = FOUND, ends: bytes = ENDS, state: int = ESTABLISHED, inode: int = 7) -> bytes:
    """What the kernel says of a socket of user 1000."""
    head = struct.pack("=IHHII", 88, kind, 0, 1, 0) + struct.pack("=BBBB", 2, state, 0, 0)
    return head + ends + bytes(12) + struct.pack("=IIIII", 0, 0, 0, 1000, inode)


ANSWERS = {
    "an established connection with an inode": (answer(), 1000),
    "no inode": (answer(inode=0), None),
    "finishing": (answer(state=FIN_WAIT), 1000),
    "finishing, and nobody holds it": (answer(state=FIN_WAIT, inode=0), None),
    "over": (answer(state=TIME_WAIT), None),
    "a listener": (answer(state=LISTEN), None),
    "another port": (answer(ends=OTHER_PORT), None),
    "another address": (answer(ends=OTHER_ADDRESS), None),
    "an IPv6 socket with mapped addresses": (answer(ends=MAPPED), 1000),
    "another mapped address": (answer(ends=OTHER_MAPPED), None),
    "an error": (answer(kind=FAILED), None),
    "half an answer": (answer()[:-1], None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize(("told", "uid"), ANSWERS.values(), ids=ANSWERS.keys())
def test_only_the_exact_standing_connection_counts(told: bytes, uid: int | None) -> None:
    """Anything else in the kernel's answer is nobody."""
    assert peers.owner(told, ENDS) == uid
