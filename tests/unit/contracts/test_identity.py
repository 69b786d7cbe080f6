from datetime import UTC, datetime

import pytest

from posthouse.contracts import identity
from posthouse.errors import InvalidInput


@pytest.mark.parametrize("name", ["gpu", "GPU-1", "0", "a_b", "houmaoish", "houmao1"])
def test_a_plain_name_may_be_used(name: str) -> None:
    """Letters, digits, underscore and dash, starting with a letter or digit."""
    assert identity.user_name(f" {name} ") == name


@pytest.mark.parametrize(
    "name", ["", "-a", "_a", ".", "..", "a/b", "a b", "ä", "a\nb", "houmao-x", "HOUMAO_x", "Houmao-"]
)
def test_a_name_that_breaks_a_rule_is_refused(name: str) -> None:
    """Anything else, and the reserved prefix, is refused."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_name"):
        identity.user_name(name)


def test_what_follows_from_a_name() -> None:
    """Canonical name, id and tmux session name are derived as the contract says."""
    moment = datetime.fromtimestamp(1741867200, UTC)

    assert identity.canonical("gpu") == identity.canonical("HOUMAO-gpu") == "HOUMAO-gpu"
    assert identity.same_agent("gpu", "HOUMAO-gpu")
    assert not identity.same_agent("gpu", "GPU")
    assert identity.default_id("gpu") == "0aa0be2a866411d9ff03515227454947"
    assert identity.default_id("gpu") != identity.default_id("HOUMAO-gpu")
    assert identity.tmux_session_name("gpu", moment) == "HOUMAO-gpu-1741867200000"


def test_an_agent_that_nobody_named_gets_a_name_from_tool_and_role() -> None:
    """The automatic name is canonical, sanitised, and its base has at most 40 characters."""
    assert identity.generated_name("codex", "code review!") == "HOUMAO-codex-code-review"
    assert len(identity.generated_name("codex", "x" * 80)) == len("HOUMAO-") + 40
