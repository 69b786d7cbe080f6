"""Who is at the other end."""

import os
import socket

from posthouse.support import peers


def test_the_kernel_names_the_user_of_a_standing_connection() -> None:
    """Our own connection is ours; one that was closed, and one that never was, is nobody's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        caller = socket.create_connection(listener.getsockname())
        served, peer = listener.accept()
        here = served.getsockname()
        standing = peers.uid_of(peer, here)
        caller.close()
        closed = peers.uid_of(peer, here)
        served.close()

        assert (standing, closed) == (os.getuid(), None)
        assert peers.uid_of(("127.0.0.1", 1), here) is None
