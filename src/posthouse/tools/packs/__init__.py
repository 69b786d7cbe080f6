"""What the screens of a CLI mean, as data: one pack per tool and range of versions, read by one engine. Pure.

Owns the form of a pack, which pack serves which version, and reading a screen with it. The packs lie in each
tool's own folder, with the captures that prove them.
"""

from posthouse.tools.packs.catalog import NoPack, Served, pack_for, packs_of
from posthouse.tools.packs.pack import BadPack, Pack
from posthouse.tools.packs.reader import read

__all__ = ["BadPack", "NoPack", "Pack", "Served", "pack_for", "packs_of", "read"]
