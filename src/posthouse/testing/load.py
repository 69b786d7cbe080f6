"""Asks a server the same thing over and over, on one connection or several, at next to no cost of its own."""

import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_TIMEOUT_SECONDS = 60.0


def request(port: int, method: str, path: str, body: bytes = b"") -> bytes:
    """A whole request, ready to be sent again and again on a connection that stays open."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def seconds_for(port: int, content: bytes, *, count: int, connections: int, status: int) -> float:
    """How long *count* requests take, each connection asking again when it is answered.

    Raises:
        RuntimeError: An answer has another status; it is shown.
    """
    with _connected(port, connections) as sockets, selectors.DefaultSelector() as waiting:
        for one in sockets:
            waiting.register(one, selectors.EVENT_READ, bytearray())
        begun = time.perf_counter()
        for one in sockets:
            one.sendall(content)
        sent, answered = connections, 0
        while answered < count:
            for key, _ in waiting.select(_TIMEOUT_SECONDS):
                assert isinstance(key.fileobj, socket.socket)
                if not _is_whole(key.data, key.fileobj.recv(65536), status):
                    continue
                answered += 1
                if sent < count:
                    key.fileobj.sendall(content)
                    sent += 1
        return time.perf_counter() - begun


def _is_whole(buffer: bytearray, part: bytes, status: int) -> bool:
    """Take *part* in; True when the answer is complete, which empties the buffer."""
    if not part:
        raise RuntimeError(f"the server hung up after {bytes(buffer)!r}")
    buffer += part
    head, separator, body = bytes(buffer).partition(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    if not separator or len(body) < int(length):
        return False
    if not head.startswith(f"HTTP/1.1 {status} ".encode()):
        raise RuntimeError(f"not the answer that was expected: {bytes(buffer)!r}")
    buffer.clear()
    return True


@contextmanager
def _connected(port: int, connections: int) -> Iterator[list[socket.socket]]:
    sockets = [socket.create_connection(("127.0.0.1", port), _TIMEOUT_SECONDS) for _ in range(connections)]
    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        yield sockets
    finally:
        for one in sockets:
            with closing(one):
                pass


def cpu_seconds(pid: int) -> float:
    """What all threads of a process have used of the processor, to the nanosecond."""
    spent = [(task / "schedstat").read_text().split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int(nanoseconds) for nanoseconds in spent) / 1e9


def resident_bytes(pid: int) -> int:
    """How much memory a process holds."""
    return _bytes_of(Path(f"/proc/{pid}/status"), "VmRSS:")


def own_bytes(pid: int) -> int:
    """How much memory is a process's own: of what several share, each has its part."""
    return _bytes_of(Path(f"/proc/{pid}/smaps_rollup"), "Pss:")


def _bytes_of(path: Path, name: str) -> int:
    (kibibytes,) = [line.split()[1] for line in path.read_text().splitlines() if line.startswith(name)]
    return int(kibibytes) << 10
