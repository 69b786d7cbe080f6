"""The form of a pack's file."""

from pathlib import Path

import pytest

from posthouse.tools.packs import pack
from posthouse.tools.packs.pack import BadPack

SMALLEST = """
tool = "t"
name = "1"
since = "1.0"
before = "2.0"
recorded = "1.5"

[composer]
shape = "ruled"
marker = '> '
indent = 2
rule = '-+'

[dialog]
choice = '(?P<cursor>>)? (?P<number>\\d)\\. (?P<label>.+)'
sign = 'Esc to cancel'

[turn]
begins = '> '
"""


def test_the_smallest_pack_is_one() -> None:
    """Everything else has a default."""
    read = pack.parse(SMALLEST)

    assert (read.label, read.dialog.otherwise, read.signs) == ("t 1", "menu", ())
    assert read.composer.marker.match("> hello")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        pytest.param(("[turn]", "[turn]\nbegin = 'x'"), "unknown field `begin`", id="a mistyped key"),
        pytest.param(("'-+'", "'-+('"), "invalid pattern", id="a broken pattern"),
        pytest.param(('"ruled"', '"round"'), "Invalid enum value 'round'", id="an unknown shape"),
        pytest.param(('name = "1"', "name = 1"), "Expected `str`", id="another type"),
        pytest.param(("[dialog]", "[dialog"), "line 14", id="no TOML"),
    ],
)
def test_what_is_wrong_in_a_pack_is_said(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    """Nothing is passed over in silence; the message names the file and the place."""
    path = tmp_path / "1.toml"
    path.write_text(SMALLEST.replace(*change))

    with pytest.raises(BadPack, match=complaint) as raised:
        pack.load(path)

    assert str(raised.value).startswith("1.toml: ")


def test_a_pack_that_is_not_there_is_said(tmp_path: Path) -> None:
    """A folder may lose a file between two looks."""
    with pytest.raises(BadPack, match="No such file"):
        pack.load(tmp_path / "gone.toml")


def test_a_pack_that_is_nested_without_end_is_a_bad_pack() -> None:
    """And no RecursionError."""
    with pytest.raises(BadPack, match="nested too deeply"):
        pack.parse("a = " + "[" * 100_000)
