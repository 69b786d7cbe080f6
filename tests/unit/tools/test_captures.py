"""What the screens of every CLI mean, on captures of the real programs."""

import pytest

from posthouse import tools
from posthouse.testing import captures

CAPTURES = [(tool, name) for tool in captures.tools() for name in captures.names(tool)]


@pytest.mark.parametrize(("tool", "name"), CAPTURES, ids=["/".join(each) for each in CAPTURES])
def test_a_capture_is_read_as_a_person_reads_it(tool: str, name: str) -> None:
    """State, dialog and what stands in the composer."""
    found = tools.load(tool).read_surface(captures.screen(tool, name))

    told = {"state": found.state, "dialog": found.dialog, "composer": found.composer or None}
    assert {key: value for key, value in told.items() if value is not None} == captures.expected(tool)[name]
