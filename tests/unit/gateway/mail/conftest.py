"""A gateway whose agent has a mailbox in memory."""

from pathlib import Path

import pytest

from posthouse.testing import gateway_with_mailbox
from posthouse.testing.gateway_with_mailbox import Opened


@pytest.fixture
def house(tmp_path: Path) -> Opened:
    """Opens a gateway with a mailbox."""
    return gateway_with_mailbox.opener(tmp_path)
