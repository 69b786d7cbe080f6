"""Files of other programs: opening never blocks, only regular files of bounded size are read."""

import os
import socket
from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.support import untrusted_files
from posthouse.support.untrusted_files import BadJson, UnsafeFile


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    """Content comes back as it lies there."""
    (tmp_path / "a").write_bytes(b"content")

    assert untrusted_files.read_bytes(tmp_path / "a") == b"content"


def test_a_named_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    """Opening a pipe that has no writer would block for ever."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UnsafeFile, match="is a named pipe, not a regular file"):
        untrusted_files.read_bytes(tmp_path / "pipe")


def test_a_folder_a_socket_and_a_device_are_refused(tmp_path: Path) -> None:
    """Only regular files have content that ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (tmp_path, tmp_path / "socket", Path("/dev/zero")):
            with pytest.raises(UnsafeFile, match="not a regular file"):
                untrusted_files.read_bytes(path)


def test_a_link_is_followed_only_where_the_user_gave_the_path(tmp_path: Path) -> None:
    """A link that an agent plants would show another file."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(UnsafeFile, match="is a symbolic link"):
        untrusted_files.read_bytes(tmp_path / "link")
    assert untrusted_files.read_bytes(tmp_path / "link", follow=True) == b"secret"


def test_a_link_to_a_pipe_is_refused_even_if_links_are_followed(tmp_path: Path) -> None:
    """The check is about what was opened."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")

    with pytest.raises(UnsafeFile, match="named pipe"):
        untrusted_files.read_bytes(tmp_path / "link", follow=True)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """No more than the limit is held in memory."""
    (tmp_path / "large").write_bytes(b"x" * 11)

    with pytest.raises(UnsafeFile, match="more than 10 bytes"):
        untrusted_files.read_bytes(tmp_path / "large", max_bytes=10)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    """Callers tell a missing file from a bad one."""
    with pytest.raises(FileNotFoundError):
        untrusted_files.read_bytes(tmp_path / "none")


def test_the_refusal_is_input_and_a_value_error() -> None:
    """HTTP answers 4xx; readers that skip bad content skip it."""
    assert issubclass(UnsafeFile, InvalidInput)
    assert issubclass(UnsafeFile, ValueError)


def test_the_tail_says_where_it_begins(tmp_path: Path) -> None:
    """A large file is read from its end."""
    (tmp_path / "log").write_bytes(b"0123456789")

    assert untrusted_files.read_tail(tmp_path / "log", max_bytes=4) == (6, b"6789")
    assert untrusted_files.read_tail(tmp_path / "log", max_bytes=40) == (0, b"0123456789")


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"", b"{", b"9" * 10_000])
def test_json_of_any_fault_is_one_error(content: bytes) -> None:
    """Deep nesting is bad input like any other, and no RecursionError."""
    with pytest.raises(BadJson):
        untrusted_files.decode_json(content)


def test_output_is_appended_to_regular_files_only(tmp_path: Path) -> None:
    """Opening a pipe that has no reader would block for ever."""
    os.mkfifo(tmp_path / "pipe")
    for said, is_new in ((b"a", False), (b"b", False), (b"c", True)):
        with open(untrusted_files.open_output(tmp_path / "log", is_new=is_new), "ab") as output:
            output.write(said)
        if not is_new:
            before = (tmp_path / "log").read_bytes()

    assert (before, (tmp_path / "log").read_bytes()) == (b"ab", b"c")
    with pytest.raises(UnsafeFile, match="named pipe"):
        untrusted_files.open_output(tmp_path / "pipe")
