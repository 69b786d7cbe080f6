"""A gateway whose agent has a mailbox in memory."""

from pathlib import Path

import pytest

from posthouse.testing import mail_house
from posthouse.testing.mail_house import Opened


@pytest.fixture
def house(tmp_path: Path) -> Opened:
    """Opens a gateway with a mailbox."""
    return mail_house.opener(tmp_path)
