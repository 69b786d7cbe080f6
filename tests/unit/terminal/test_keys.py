"""The grammar of raw input."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.errors import InvalidInput
from posthouse.terminal.keys import NAMES, Key, LiteralText, parse


@pytest.mark.parametrize(
    ("sequence", "parts"),
    [
        pytest.param("ls<[Enter]>", (LiteralText("ls"), Key("Enter")), id="text then key"),
        pytest.param("<[Escape]><[C-c]>", (Key("Escape"), Key("C-c")), id="keys side by side"),
        pytest.param("a<[Up]>b\n", (LiteralText("a"), Key("Up"), LiteralText("b\n")), id="no Enter is added"),
        pytest.param("<[ Enter ]>", (LiteralText("<[ Enter ]>"),), id="spaces inside make it text"),
        pytest.param("<[]>", (LiteralText("<[]>"),), id="no name is text"),
        pytest.param("<[Enter", (LiteralText("<[Enter"),), id="unbalanced is text"),
        pytest.param(
            "<<[Tab]>>", (LiteralText("<"), Key("Tab"), LiteralText(">")), id="marks around a token"
        ),
        pytest.param("", (), id="nothing"),
    ],
)
def test_tokens_are_keys_and_the_rest_is_text(sequence: str, parts: tuple[LiteralText | Key, ...]) -> None:
    """Exactly `<[NAME]>` is a key."""
    assert parse(sequence) == parts


@pytest.mark.parametrize("name", NAMES)
def test_every_named_key_is_known(name: str) -> None:
    """All eleven names of the contract are keys."""
    assert parse(f"<[{name}]>") == (Key(name),)


@pytest.mark.parametrize("name", ["enter", "ENTER", "F1", "C-x", "Enter;"])
def test_an_unknown_name_refuses_the_whole_sequence(name: str) -> None:
    """A well-formed token with another name sends nothing; names are case-sensitive."""
    with pytest.raises(InvalidInput, match=re.escape(f"<[{name}]> is not a key")) as refused:
        parse(f"rm<[Enter]><[{name}]>")

    assert refused.value.code == "unknown_key"


@given(st.text(min_size=1))
def test_literal_is_one_piece_of_text(sequence: str) -> None:
    """With `literal`, tokens are text too."""
    assert parse(sequence + "<[Enter]>", literal=True) == (LiteralText(sequence + "<[Enter]>"),)


@given(st.text(alphabet=st.characters(exclude_characters="[]<>")))
def test_text_without_marks_is_kept_whole(sequence: str) -> None:
    """Nothing is lost or split without a token."""
    assert parse(sequence) == ((LiteralText(sequence),) if sequence else ())
