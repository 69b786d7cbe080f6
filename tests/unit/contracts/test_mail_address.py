"""Which mail addresses there are, and what follows from a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posthouse.contracts import mail_address
from posthouse.errors import InvalidInput


@pytest.mark.parametrize(
    "text", ["gpu@houmao.localhost", "a.b+c-d_e@example.org", "HOUMAO-gpu@agents.localhost", " x@y "]
)
def test_full_addresses_are_taken(text: str) -> None:
    """A full address is returned trimmed, its case kept."""
    assert mail_address.check(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpu",
        "a@b@c",
        "../x@y",
        "a..b@y",
        "a/b@y",
        "a@y/",
        "a@-",
        "a@b\nc",
        "-a@b",
        "a b@c",
        "ä@b",
        "a@" + "b" * 300,
    ],
)
def test_what_could_leave_its_folder_or_is_no_address_is_refused(text: str) -> None:
    """What is not a full address in one safe path segment is refused."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_address"):
        mail_address.check(text)


def test_a_name_alone_gets_a_hint() -> None:
    """Who writes to a name is told the address that was probably meant."""
    with pytest.raises(InvalidInput, match=r"did you mean gpu@houmao\.localhost"):
        mail_address.check("gpu")


def test_both_spellings_of_a_name_have_one_address() -> None:
    """The prefix belongs to the principal and not to the address."""
    got = [
        (mail_address.default_principal(name), mail_address.default_address(name))
        for name in ("gpu", "HOUMAO-gpu")
    ]

    assert got == [("HOUMAO-gpu", "gpu@houmao.localhost")] * 2


@given(st.text(max_size=60))
def test_whatever_an_agent_is_called_its_address_is_one(name: str) -> None:
    """Every name gives a usable address."""
    address = mail_address.default_address(name)

    assert mail_address.check(address) == address


def test_only_the_system_has_addresses_with_the_prefix() -> None:
    """The operator's address is reserved; an agent's is not."""
    asked = (mail_address.OPERATOR_ADDRESS, "gpu@houmao.localhost", "HOUMAO-gpu@elsewhere")

    assert [mail_address.is_reserved(one) for one in asked] == [True, False, False]
