"""Personas by name."""

import pytest

from posthouse.tools.scripted import personas


def test_variants_change_what_they_name_and_nothing_else() -> None:
    """A persona keeps its look and habits while hooks or transcript go missing."""
    plain, broken = personas.find("gemini"), personas.find("gemini+no-hooks+lagging")

    assert (plain.has_hooks, plain.has_transcript, plain.lag_seconds) == (True, True, 0.0)
    assert (broken.has_hooks, broken.has_transcript, broken.lag_seconds) == (False, True, 0.3)
    assert (broken.appearance, broken.enter_lost_seconds) == (plain.appearance, plain.enter_lost_seconds)


@pytest.mark.parametrize("name", ["bard", "claude+drunk", ""])
def test_an_unknown_persona_is_told_what_there_is(name: str) -> None:
    """A slip in the name is not silently another agent."""
    with pytest.raises(ValueError, match="there is plain, claude, codex, gemini"):
        personas.find(name)
