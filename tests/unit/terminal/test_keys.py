"""The grammar of raw input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.terminal.keys import NAMES, Key, Literal_, UnknownKey, parse


@pytest.mark.parametrize(
    ("sequence", "parts"),
    [
        pytest.param("ls<[Enter]>", (Literal_("ls"), Key("Enter")), id="text then key"),
        pytest.param("<[Escape]><[C-c]>", (Key("Escape"), Key("C-c")), id="keys side by side"),
        pytest.param("a<[Up]>b\n", (Literal_("a"), Key("Up"), Literal_("b\n")), id="no Enter is added"),
        pytest.param("<[ Enter ]>", (Literal_("<[ Enter ]>"),), id="spaces inside make it text"),
        pytest.param("<[]>", (Literal_("<[]>"),), id="no name is text"),
        pytest.param("<[Enter", (Literal_("<[Enter"),), id="unbalanced is text"),
        pytest.param("<<[Tab]>>", (Literal_("<"), Key("Tab"), Literal_(">")), id="marks around a token"),
        pytest.param("", (), id="nothing"),
    ],
)
def test_tokens_are_keys_and_the_rest_is_text(sequence: str, parts: tuple[Literal_ | Key, ...]) -> None:
    """Exactly `<[NAME]>` is a key."""
    assert parse(sequence) == parts


@pytest.mark.parametrize("name", NAMES)
def test_every_named_key_is_known(name: str) -> None:
    """All eleven names of the contract are keys."""
    assert parse(f"<[{name}]>") == (Key(name),)


@pytest.mark.parametrize("name", ["enter", "ENTER", "F1", "C-x", "Enter;"])
def test_an_unknown_name_refuses_the_whole_sequence(name: str) -> None:
    """A well-formed token with another name sends nothing; names are case-sensitive."""
    with pytest.raises(UnknownKey) as refused:
        parse(f"rm<[Enter]><[{name}]>")

    assert refused.value.name == name


@given(st.text(min_size=1))
def test_literal_is_one_piece_of_text(sequence: str) -> None:
    """With `literal`, tokens are text too."""
    assert parse(sequence + "<[Enter]>", literal=True) == (Literal_(sequence + "<[Enter]>"),)


@given(st.text(alphabet=st.characters(exclude_characters="[]<>")))
def test_text_without_marks_is_kept_whole(sequence: str) -> None:
    """Nothing is lost or split without a token."""
    assert parse(sequence) == ((Literal_(sequence),) if sequence else ())
