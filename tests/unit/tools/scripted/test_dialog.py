"""Questions with numbered choices."""

import pytest

from posthouse.tools.scripted.dialog import Answer, permission, press


@pytest.mark.parametrize(
    ("keys", "choice"),
    [
        pytest.param(["Enter"], 0, id="Enter takes the marked one"),
        pytest.param(["Down", "Down", "Enter"], 2, id="arrows move the mark"),
        pytest.param(["Up", "Enter"], 0, id="not above the first"),
        pytest.param(["Down", "Down", "Down", "Enter"], 2, id="not below the last"),
        pytest.param(["2"], 1, id="a number chooses at once"),
        pytest.param(["9", "x", "Enter"], 0, id="other keys are eaten"),
        pytest.param(["Escape"], None, id="Escape is no choice"),
    ],
)
def test_keys_answer_a_dialog(keys: list[str], choice: int | None) -> None:
    """A dialog ends with a choice or with Escape."""
    shown = permission("ls")
    for key in keys[:-1]:
        after = press(shown, key)
        assert not isinstance(after, Answer)
        shown = after

    assert press(shown, keys[-1]) == Answer(choice)
