"""Which gateways a host serves, on disk: what it takes up again. Written by who holds the host's lock."""

from pathlib import Path

from posthouse.contracts import gateway_host as gh
from posthouse.contracts import strict
from posthouse.support import files, untrusted_files


def folder_of(runtime_root: Path) -> Path:
    return runtime_root / gh.FOLDER


def read(runtime_root: Path) -> tuple[gh.Seat, ...]:
    """The seats on the roll; none when there is no roll, or none that can be read."""
    try:
        content = untrusted_files.read_own_bytes(folder_of(runtime_root) / gh.ROLL)
        return strict.decode(content, gh.Roll).seats
    except (FileNotFoundError, ValueError):
        # A roll that can't be read costs nobody a request: each session can be attached again.
        return ()


def is_listed(runtime_root: Path, gateway_root: Path) -> bool:
    return any(seat.gateway_root == str(gateway_root) for seat in read(runtime_root))


def add(runtime_root: Path, seat: gh.Seat) -> None:
    """Put *seat* on the roll, in place of an earlier one of the same gateway. On disk when this returns."""
    _write(runtime_root, (*_others(runtime_root, seat.gateway_root), seat))


def remove(runtime_root: Path, gateway_root: str) -> None:
    """Take a gateway off the roll. On disk when this returns."""
    others = _others(runtime_root, gateway_root)
    if len(others) < len(read(runtime_root)):
        _write(runtime_root, others)


def _others(runtime_root: Path, gateway_root: str) -> tuple[gh.Seat, ...]:
    return tuple(seat for seat in read(runtime_root) if seat.gateway_root != gateway_root)


def _write(runtime_root: Path, seats: tuple[gh.Seat, ...]) -> None:
    path = files.private_folder(folder_of(runtime_root)) / gh.ROLL
    files.write_json(path, strict.plain(gh.Roll(seats=seats)), durable=True)
