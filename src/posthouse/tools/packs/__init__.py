"""Screen recognition as data: one pack per tool and version range, interpreted by one engine. Pure.

Owns the format of a pack, the choice of a pack for a version, and reading a screen with it. The packs are in
each tool's folder, with the captures that test them.
"""

from posthouse.tools.packs.catalog import NoPack, PackMatch, pack_for, packs_of
from posthouse.tools.packs.pack import BadPack, Pack
from posthouse.tools.packs.reader import read

__all__ = ["BadPack", "NoPack", "Pack", "PackMatch", "pack_for", "packs_of", "read"]
