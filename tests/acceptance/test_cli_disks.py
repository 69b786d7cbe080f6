"""Commands on a disk that is full or read-only: one line with the reason, and nothing half done."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

#: Every command that writes, by what it is about; `gpu` runs with a gateway, `ci` is headless without one.
WRITING: dict[str, tuple[str, ...]] = {
    "launch": ("agents", "launch", "--tool", "scripted", "--name", "new"),
    "launch headless": ("agents", "launch", "--tool", "scripted", "--name", "new", "--headless"),
    "launch hosted": ("agents", "launch", "--tool", "scripted", "--name", "new", "--hosted"),
    "prompt": ("agents", "prompt", "gpu", "--prompt", "refused"),
    "prompt without a gateway": ("agents", "prompt", "ci", "--prompt", "refused"),
    "turn submit": ("agents", "turn", "submit", "ci", "--prompt", "refused"),
    "mail send": (
        *("agents", "mail", "send", "gpu", "--to", "ci@houmao.localhost", "--subject", "s"),
        *("--body-content", "refused"),
    ),
    "tokens create": ("tokens", "create", "new", "--scope", "read"),
    "notify add": ("agents", "notify", "add", "gpu", "--on", "failed", "true"),
    "gateway attach": ("agents", "gateway", "attach", "ci"),
    "serve": ("serve", "--port", "0"),
    "project init": ("project", "init"),
    "mailbox register": ("mailbox", "register", "--address", "new@houmao.localhost", "--principal-id", "new"),
}
#: They go through the gateway's queue, whose files are open already.
THROUGH_THE_GATEWAY = ("prompt",)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Not a byte more fits in the body."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (4096, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Nothing can be opened for writing in the body."""
    subprocess.run(["mount", "--bind", disk, disk], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture
def on_a_small_disk(posthouse: "Commands") -> Iterator["Commands"]:
    """Everything that commands write is on a file system of 16 megabytes."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", posthouse.folder], check=True)
    for folder in ("home", "work"):
        (posthouse.folder / folder).mkdir(mode=0o700)
    try:
        yield posthouse
    finally:
        posthouse.end_everything()
        subprocess.run(["umount", "--lazy", posthouse.folder], check=True)


@pytest.mark.needs_host("root")
@pytest.mark.parametrize(
    ("trouble", "reasons", "left_out"),
    [
        pytest.param(full, ("no space left on device", "disk is full"), (), id="full"),
        pytest.param(read_only, ("read-only file system",), THROUGH_THE_GATEWAY, id="read-only"),
    ],
)
def test_every_command_that_writes_says_why_it_can_not_and_leaves_nothing(
    on_a_small_disk: "Commands",
    trouble: Callable[[Path], AbstractContextManager[None]],
    reasons: tuple[str, ...],
    left_out: tuple[str, ...],
) -> None:
    """One line with the reason; with room again, nothing of what was refused is there or happens."""
    posthouse = on_a_small_disk
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "gpu")
    posthouse.ok("agents", "launch", "--tool", "scripted", "--name", "ci", "--headless", "--no-gateway")
    before = state(posthouse)

    with trouble(posthouse.folder):
        done = {name: posthouse.run(*words) for name, words in WRITING.items() if name not in left_out}

    for name, one in done.items():
        *told, reason = one.stderr.strip().splitlines()
        assert (one.returncode, one.stdout, len(told) <= (name == "serve")) == (1, "", True), (name, one)
        assert any(known in reason.casefold() for known in reasons), (name, reason)
        assert "unexpected" not in reason, (name, reason)
    assert state(posthouse) == before


def state(posthouse: "Commands") -> dict[str, object]:
    """What refused commands would have changed."""
    listed = posthouse.json("agents", "list")["agents"]
    return {
        "agents": sorted((one["agent_name"], one["health"]) for one in listed),
        "requests": posthouse.json("agents", "requests", "list", "gpu")["requests"],
        "turns": sorted(posthouse.folder.glob("runtime/sessions/*/*/*/*/order.json")),
        "mail": posthouse.json("agents", "mail", "list", "ci")["messages"],
        "targets": posthouse.json("agents", "notify", "list", "gpu")["targets"],
        "tokens": posthouse.json("tokens", "list")["tokens"],
        "overlay": (posthouse.workdir / ".houmao" / "houmao-config.toml").exists(),
        "sessions": sorted(posthouse.tmux("list-sessions", "-F", "#{session_name}").split()),
    }
