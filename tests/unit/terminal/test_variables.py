"""Environment variables into tmux and out of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.errors import InvalidInput
from posthouse.terminal import variables

_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True)
_values = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"))


def _printed(name: str, value: str) -> str:
    """As `show-environment -s` does."""
    for char in '\\$`"':
        value = value.replace(char, f"\\{char}")
    return f'{name}="{value}"; export {name};'


@given(st.dictionaries(_names, _values))
def test_no_value_passes_for_another_variable(values: dict[str, str]) -> None:
    """Newlines, quotes and forged assignments stay inside their value; removed ones are left out."""
    printed = "\n".join(["unset DISPLAY;", *(_printed(*item) for item in values.items()), "unset WINDOWID;"])

    assert variables.parse(printed) == values


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A\nB", "-g"])
def test_a_bad_name_is_refused(name: str) -> None:
    """What is no name could be a flag or a second variable."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_variable"):
        variables.flags({name: "x"})


def test_a_value_has_the_kernels_limit_and_is_not_repeated() -> None:
    """128 KB with its name is the most; the message does not hold the value."""
    variables.check({"A": "x" * (128 * 1024 - 3)})

    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_variable") as refused:
        variables.check({"A": "x" * (128 * 1024 - 2)})

    assert "xx" not in str(refused.value)
