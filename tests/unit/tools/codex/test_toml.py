"""TOML that reads back as it was."""

import tomllib
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.tools.codex import toml

_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_SCALARS = _TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3)
)


@given(st.dictionaries(_TEXT, _VALUES, max_size=4))
def test_a_document_reads_back_the_same(document: dict[str, Any]) -> None:
    """Whatever codex or a person put there is kept."""
    assert tomllib.loads(toml.dumps(document)) == document


def test_dates_are_kept() -> None:
    """TOML has them, JSON has not."""
    document = {"day": date(2026, 1, 2), "moment": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)}

    assert tomllib.loads(toml.dumps(document)) == document


def test_a_table_stands_under_its_header() -> None:
    """A person can read it."""
    text = toml.dumps({"a": {"b": {"c": 1}}, "top": "x", "p": {"/w/my proj": {"trust": True}}})

    assert text == 'top = "x"\n\n[a.b]\nc = 1\n\n[p."/w/my proj"]\ntrust = true\n'


def test_what_toml_has_no_value_for_is_refused() -> None:
    """Nothing is written by guess."""
    with pytest.raises(TypeError):
        toml.value(None)
