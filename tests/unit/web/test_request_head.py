"""Which heads are served."""

import pytest

from posthouse.web.request_head import Head, check

HOST = (b"host", b"127.0.0.1:43123")


def head(
    *headers: tuple[bytes, bytes], target: bytes = b"/health", version: str = "1.1", is_upgrade: bool = False
) -> Head:
    return Head(target=target, version=version, headers=[HOST, *headers], is_upgrade=is_upgrade)


HEADS = {
    "plain": (head(), None),
    "HTTP/1.0": (head(version="1.0"), None),
    "chunked": (head((b"transfer-encoding", b"Chunked")), None),
    "a whole URL of the same host": (head(target=b"http://127.0.0.1:43123/health"), None),
    "the same without a path": (head(target=b"HTTP://127.0.0.1:43123?a"), None),
    "an offer to upgrade": (head((b"upgrade", b"h2c"), is_upgrade=True), None),
    "the same with an empty body": (head((b"content-length", b"0"), is_upgrade=True), None),
    "HTTP/0.9": (head(version="0.9"), 505),
    "HTTP/2": (head(version="2.0"), 505),
    "a second Host": (head((b"host", b"127.0.0.1:43123")), 400),
    "a URL of another host": (head(target=b"http://evil.example/health"), 400),
    "a URL of a host that starts alike": (head(target=b"http://127.0.0.1:43123.evil.example/"), 400),
    "a URL with a user": (head(target=b"http://me@127.0.0.1:43123/"), 400),
    "another scheme": (head(target=b"https://127.0.0.1:43123/"), 400),
    "a tunnel": (head(target=b"127.0.0.1:43123"), 400),
    "everything": (head(target=b"*"), 400),
    "a coding before chunked": (head((b"transfer-encoding", b"gzip, chunked")), 501),
    "another coding": (head((b"transfer-encoding", b"identity")), 501),
    "chunked twice": (head((b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"chunked")), 501),
    "chunked in HTTP/1.0": (head((b"transfer-encoding", b"chunked"), version="1.0"), 400),
    "an upgrade with a body": (head((b"content-length", b"3"), is_upgrade=True), 400),
    "an upgrade with chunks": (head((b"transfer-encoding", b"chunked"), is_upgrade=True), 400),
}


@pytest.mark.parametrize(("given", "status"), HEADS.values(), ids=HEADS.keys())
def test_a_head_in_doubt_is_refused(given: Head, status: int | None) -> None:
    """Whatever two programs could read in two ways is not served."""
    refusal = check(given)

    assert (refusal and refusal.status) == status
