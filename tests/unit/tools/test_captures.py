"""What the screens of every CLI mean, on captures of the real programs."""

import pytest

from posthouse import tools
from posthouse.tools.packs import captures

CAPTURES = [(tool, name) for tool in captures.tools() for name in captures.names(captures.folder_of(tool))]


@pytest.mark.parametrize(("tool", "name"), CAPTURES, ids=["/".join(each) for each in CAPTURES])
def test_a_capture_is_read_as_a_person_reads_it(tool: str, name: str) -> None:
    """State, outcome, dialog with its choices, and what stands in the composer."""
    folder = captures.folder_of(tool)

    read = captures.expected_state(tools.load(tool).read_surface(captures.screen(folder, name)))

    assert read == captures.expected(folder)[name]
