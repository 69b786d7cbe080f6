"""Names of sessions."""

import pytest

from posthouse.errors import InvalidInput
from posthouse.terminal.session import check_name


@pytest.mark.parametrize("name", ["HOUMAO-gpu-1741867200000", "my agent", "büro", "a@b", "x" * 200])
def test_a_name_that_tmux_keeps_is_taken(name: str) -> None:
    """Also those of sessions that people made."""
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "a.b", "a:b", "$1", "@1", "=a", "{last}", "!", " a", "a#(id)", "a\nb", "x" * 201]
)
def test_a_name_that_means_something_else_is_refused_early(name: str) -> None:
    """tmux would rename it, expand it, or take another session for it."""
    with pytest.raises(InvalidInput, match="cannot name a tmux session"):
        check_name(name)
