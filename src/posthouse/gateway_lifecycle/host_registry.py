"""The gateways of a host, on disk; it resumes them after a restart. Write only with the host's lock held."""

from pathlib import Path

from posthouse.contracts import gateway_host as gh
from posthouse.contracts import strict
from posthouse.support import files, untrusted_files


def folder_of(runtime_root: Path) -> Path:
    return runtime_root / gh.FOLDER


def read(runtime_root: Path) -> tuple[gh.HostRegistryEntry, ...]:
    """The listed gateways; empty when the file is missing or unreadable."""
    try:
        content = untrusted_files.read_own_bytes(folder_of(runtime_root) / gh.ROLL)
        return strict.decode(content, gh.HostRegistryFile).seats
    except (FileNotFoundError, ValueError):
        # No request is lost: each session can be attached again.
        return ()


def is_listed(runtime_root: Path, gateway_root: Path) -> bool:
    return any(entry.gateway_root == str(gateway_root) for entry in read(runtime_root))


def add(runtime_root: Path, entry: gh.HostRegistryEntry) -> None:
    """Add *entry*, replacing an entry of the same gateway. On disk when this returns."""
    _write(runtime_root, (*_others(runtime_root, entry.gateway_root), entry))


def remove(runtime_root: Path, gateway_root: str) -> None:
    """Remove a gateway. On disk when this returns."""
    others = _others(runtime_root, gateway_root)
    if len(others) < len(read(runtime_root)):
        _write(runtime_root, others)


def _others(runtime_root: Path, gateway_root: str) -> tuple[gh.HostRegistryEntry, ...]:
    return tuple(entry for entry in read(runtime_root) if entry.gateway_root != gateway_root)


def _write(runtime_root: Path, seats: tuple[gh.HostRegistryEntry, ...]) -> None:
    path = files.private_folder(folder_of(runtime_root)) / gh.ROLL
    files.write_json(path, strict.plain(gh.HostRegistryFile(seats=seats)), durable=True)
