"""Files of settings, read strictly."""

from pathlib import Path

import pytest

from posthouse.tools import settings
from posthouse.tools.settings import BadSettings


@pytest.mark.parametrize(("content", "expected"), [('{"a": 1}', {"a": 1}), ("", {})])
def test_an_object_or_nothing_is_read(content: str, expected: dict[str, int], tmp_path: Path) -> None:
    """An empty file is what a killed program may leave."""
    path = tmp_path / "settings.json"
    path.write_text(content)

    assert settings.read(path) == expected
    assert settings.read(tmp_path / "missing.json") == {}


@pytest.mark.parametrize("content", ["{", "[1]", '"text"'])
def test_anything_else_is_named_with_its_file(content: str, tmp_path: Path) -> None:
    """The message says what to do."""
    path = tmp_path / "settings.json"
    path.write_text(content)

    with pytest.raises(BadSettings, match=r"settings\.json .*: repair or remove it"):
        settings.read(path)


def test_a_section_is_an_object(tmp_path: Path) -> None:
    """Or missing."""
    assert settings.section({"env": {"A": "1"}}, "env", tmp_path) == {"A": "1"}
    assert settings.section({}, "env", tmp_path) == {}
    with pytest.raises(BadSettings, match=r"'env' in .* is not a JSON object"):
        settings.section({"env": []}, "env", tmp_path)
