"""Selects the pack for a version of a CLI: the matching one, or the nearest."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import posthouse.tools
from posthouse.errors import NotFound
from posthouse.tools.packs.pack import Pack, load

_NUMBER = re.compile(r"\d+")


class NoPack(NotFound):
    """The tool has no pack."""

    code = "no_pack"

    def __init__(self, tool: str) -> None:
        super().__init__(f"no pack for {tool!r}; `posthouse tui check` lists the packs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackMatch:
    """A pack for one version, and whether it supports that version."""

    pack: Pack
    #: None: unknown.
    version: str | None
    is_nearest: bool

    @property
    def description(self) -> str:
        """For display: the pack and how well it fits."""
        if self.version is None:
            return f"pack {self.pack.label}, for an unknown version"
        if self.is_nearest:
            return f"pack {self.pack.label} is the nearest to {self.version}, which has no pack"
        return f"pack {self.pack.label} for {self.version}"


def folder_of(tool: str) -> Path:
    """The folder with the packs of *tool*."""
    return Path(posthouse.tools.__file__).parent / tool / "packs"


@cache  # packs are package data: constant for a process
def packs_of(tool: str) -> tuple[Pack, ...]:
    """All packs of *tool*, oldest first."""
    found = [load(path) for path in sorted(folder_of(tool).glob("*.toml"))]
    return tuple(sorted(found, key=lambda pack: _parts(pack.since)))


@cache
def pack_for(tool: str, version: str | None) -> PackMatch:
    """The pack for *version*; the newest if the version is unknown, the nearest if none matches.

    Raises:
        NoPack: The tool has no pack.
    """
    packs = packs_of(tool)
    if not packs:
        raise NoPack(tool)
    if version is None:
        return PackMatch(pack=packs[-1], version=None, is_nearest=False)
    wanted = _parts(version)
    for pack in packs:
        if _parts(pack.since) <= wanted < _parts(pack.before):
            return PackMatch(pack=pack, version=version, is_nearest=False)
    older = [pack for pack in packs if _parts(pack.since) <= wanted]
    return PackMatch(pack=older[-1] if older else packs[0], version=version, is_nearest=True)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBER.findall(version)[:4])
