"""The user at the other end of a loopback connection, from the kernel, without a token.

Queries SOCK_DIAG for the exact connection, so Linux only. About 10 µs.
"""

import socket
import struct

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
#: Established, or half-closed by the peer, which still reads (FIN_WAIT1, FIN_WAIT2).
_STANDING = (1, 4, 5)
_ALL_STATES = 0xFFFFFFFF
_NO_COOKIE = b"\xff" * 8
_KERNEL = (0, 0)

#: Length, type, flags, sequence, sender.
_HEADER = struct.Struct("=IHHII")
#: Family, protocol, extensions, padding, states.
_QUESTION = struct.Struct("=BBBxI")
#: Source port, destination port, source, destination, interface, cookie.
_CONNECTION = struct.Struct("!HH4s12x4s12x4x8s")
#: Both ports and both addresses, which the response must repeat.
_ENDS = 36
_PORTS_BYTES = 4
_ADDRESS_BYTES = 16
#: The prefix of an IPv4 address that an IPv6 socket uses (`::ffff:127.0.0.1`).
_MAPPED = b"\x00" * 10 + b"\xff\xff"
#: Family, state, timer, retransmissions; the connection; expiry, queues, uid, inode.
_ANSWER_HEAD = struct.Struct("=BBBB")
_ANSWER_TAIL = struct.Struct("=IIIII")
_ANSWER_BYTES = _HEADER.size + _ANSWER_HEAD.size + _CONNECTION.size + _ANSWER_TAIL.size


def uid_of(peer: tuple[str, int], here: tuple[str, int]) -> int | None:
    """The user whose socket is connected from *peer* to *here*, both IPv4 on this machine.

    The peer's socket may be an IPv6 one that connects to a mapped address (`::ffff:127.0.0.1`), as Java's do.
    None when no such connection is open. The kernel shows a closed peer as user 0 without an inode.

    Raises:
        OSError: The kernel does not support the query.
    """
    wanted = _CONNECTION.pack(
        peer[1], here[1], socket.inet_aton(peer[0]), socket.inet_aton(here[0]), _NO_COOKIE
    )
    question = _QUESTION.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, _ALL_STATES) + wanted
    header = _HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as diag:
        diag.settimeout(1.0)
        diag.send(header + question)
        answer, sender = diag.recvfrom(4096)
    return owner(answer, wanted[:_ENDS]) if sender == _KERNEL else None


def owner(answer: bytes, ends: bytes) -> int | None:
    """The user in the kernel's *answer* for the connection between *ends*.

    None for an error, another connection, a connection that is no longer open, and one that no process holds.
    """
    if len(answer) < _ANSWER_BYTES or _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    _, state, _, _ = _ANSWER_HEAD.unpack_from(answer, _HEADER.size)
    place = _HEADER.size + _ANSWER_HEAD.size
    # Without an exact match the kernel may offer a listener instead.
    is_exact = answer[place : place + _ENDS] in (ends, _mapped(ends))
    _, _, _, uid, inode = _ANSWER_TAIL.unpack_from(answer, place + _CONNECTION.size)
    return int(uid) if is_exact and state in _STANDING and inode else None


def _mapped(ends: bytes) -> bytes:
    """The IPv4 *ends* with addresses mapped to IPv6."""
    ports, addresses = ends[:_PORTS_BYTES], ends[_PORTS_BYTES:]
    source, destination = addresses[:4], addresses[_ADDRESS_BYTES : _ADDRESS_BYTES + 4]
    return ports + _MAPPED + source + _MAPPED + destination
