"""Which pack serves which version."""

import pytest

from posthouse.tools import packs
from posthouse.tools.packs import NoPack


@pytest.mark.parametrize(
    ("version", "is_nearest"),
    [
        pytest.param("2.1.0", False, id="the first it is for"),
        pytest.param("2.1.197", False, id="the one that was recorded"),
        pytest.param("2.1.4000", False, id="a later one of the same line"),
        pytest.param("2.2.0", True, id="a newer line"),
        pytest.param("9.0", True, id="a much newer one"),
        pytest.param("1.0.3", True, id="an older one"),
        pytest.param("next", True, id="a version that is none"),
        pytest.param(None, False, id="nobody knows"),
    ],
)
def test_a_version_without_a_pack_runs_on_the_nearest_and_says_so(
    version: str | None, is_nearest: bool
) -> None:
    """An update of a CLI never leaves it without a reading."""
    served = packs.pack_for("claude", version)

    assert (served.pack.label, served.version, served.is_nearest) == ("claude 2.1", version, is_nearest)
    assert ("nearest" in served.description) == is_nearest


def test_a_tool_without_packs_is_named() -> None:
    """The message says where to look."""
    with pytest.raises(NoPack, match=r"no pack for 'scripted'.*tui check"):
        packs.pack_for("scripted", None)
