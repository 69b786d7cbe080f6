import stat
from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.sessions import secrets
from posthouse.terminal import variable_files


def test_a_bare_name_takes_the_callers_value_and_later_ones_win(tmp_path: Path) -> None:
    """Files first, then `K` and `K=V` in their order."""
    file = tmp_path / ".env"
    file.write_text("# keys\nexport A=file\nB='two words'\n\nC=\"x=y\"\nE=\n")

    values = secrets.collect(["A", "D=four", "D=4"], {"A": "caller"}, [file])

    assert values == {"A": "caller", "B": "two words", "C": "x=y", "D": "4", "E": ""}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("NOPE", "no variable NOPE"),
        ("1A=x", "not a variable name"),
        ("A=\0", "NUL"),
        ("=x", "not a variable"),
    ],
)
def test_what_is_no_variable_is_refused(given: str, message: str) -> None:
    """The message names the variable and the rule."""
    with pytest.raises(InvalidInput, match=message):
        secrets.collect([given], {})


def test_a_bad_line_of_an_env_file_is_named_by_number_and_not_repeated(tmp_path: Path) -> None:
    """The line may be a secret, so the message has only its number."""
    file = tmp_path / ".env"
    file.write_text("A=1\nsk-live-123\n")

    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_variable") as refused:
        secrets.parse_env_file(file)

    assert "line 2" in str(refused.value)
    assert "sk-live" not in str(refused.value)


def test_values_are_kept_for_the_owner_alone(tmp_path: Path) -> None:
    """What was written comes back, from a file that only its owner may read."""
    secrets.write(tmp_path, {"KEY": "v\n2"})

    assert variable_files.read(secrets.file_of(tmp_path)) == {"KEY": "v\n2"}
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]


@pytest.mark.parametrize("values", [{"A-B": "s3cret"}, {"A": "s3cret" * 30_000}], ids=["name", "length"])
def test_what_no_program_could_be_given_is_not_kept(tmp_path: Path, values: dict[str, str]) -> None:
    """A brain manifest may name anything; the launch fails, and not the start."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_variable") as refused:
        secrets.write(tmp_path, values)

    assert "s3cret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
