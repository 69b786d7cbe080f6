"""What tests of the wire formats share."""

import pytest

from posthouse.testing.model_api import anthropic, gemini, openai


@pytest.fixture
def plain_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that are their own prefix: they are random otherwise, and answers are compared whole."""
    for wire_format in (anthropic, gemini, openai):
        monkeypatch.setattr(wire_format, "new_id", lambda prefix: prefix)
