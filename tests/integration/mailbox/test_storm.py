"""Ten senders to one mailbox, killed at random."""

import json
import subprocess
import sys
from pathlib import Path


def test_every_acknowledged_message_is_there_exactly_once_whoever_was_killed(tmp_path: Path) -> None:
    """Sender and receivers have the same messages, and nothing that was acknowledged is missing."""
    done = subprocess.run(
        [sys.executable, "-m", "posthouse.testing.mail_storm", str(tmp_path), "--seconds", "4"],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )

    outcome = json.loads(done.stdout)
    told = {name: outcome[name] for name in ("lost", "doubled", "partial", "half_done")}
    assert told == {"lost": 0, "doubled": 0, "partial": 0, "half_done": 0}
    assert outcome["killed"] > 0
    assert outcome["acknowledged"] > 0
