"""Which pack serves a version of a CLI: the one made for it, or the nearest."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import posthouse.tools
from posthouse.errors import NotFound
from posthouse.tools.packs.pack import Pack, load

_NUMBER = re.compile(r"\d+")


class NoPack(NotFound):
    """Nothing is known of this tool's screens."""

    code = "no_pack"

    def __init__(self, tool: str) -> None:
        super().__init__(f"there is no pack for {tool!r}; `posthouse tui check` lists those there are")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A pack for one version, and whether it was made for it."""

    pack: Pack
    #: None: nobody knows the version.
    version: str | None
    is_nearest: bool

    @property
    def sentence(self) -> str:
        """For a person: which pack it is and how far it can be trusted."""
        if self.version is None:
            return f"pack {self.pack.label}, for an unknown version"
        if self.is_nearest:
            return f"pack {self.pack.label} is the nearest to {self.version}, which nobody recorded"
        return f"pack {self.pack.label} for {self.version}"


def folder_of(tool: str) -> Path:
    """Where the packs of *tool* lie."""
    return Path(posthouse.tools.__file__).parent / tool / "packs"


@cache  # packs are data of the package: nothing changes them while a process runs
def packs_of(tool: str) -> tuple[Pack, ...]:
    """All packs of *tool*, oldest first."""
    found = [load(path) for path in sorted(folder_of(tool).glob("*.toml"))]
    return tuple(sorted(found, key=lambda pack: _parts(pack.since)))


@cache
def pack_for(tool: str, version: str | None) -> Served:
    """The pack for *version*; the newest when the version is unknown, the nearest when none is made for it.

    Raises:
        NoPack: The tool has none.
    """
    packs = packs_of(tool)
    if not packs:
        raise NoPack(tool)
    if version is None:
        return Served(pack=packs[-1], version=None, is_nearest=False)
    wanted = _parts(version)
    for pack in packs:
        if _parts(pack.since) <= wanted < _parts(pack.before):
            return Served(pack=pack, version=version, is_nearest=False)
    older = [pack for pack in packs if _parts(pack.since) <= wanted]
    return Served(pack=older[-1] if older else packs[0], version=version, is_nearest=True)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBER.findall(version)[:4])
