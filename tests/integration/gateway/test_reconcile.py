"""An agent that somebody restarted by hand, and the command that decides about its work."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.events.journal import read_events
from posthouse.terminal import session as terminal
from posthouse.testing.waiting import LIMIT_SECONDS

# What `house` is, is told in conftest.py; tests can't import it from there.
House = Any


def replaced(house: House) -> Any:
    """A TUI with one prompt in line, and another program in its place."""
    session = house.launch(headless=False)
    house.attach(session)
    client = house.client(session)
    client.submit_prompt("long [[wait 600]]")
    house.truth(session).wait(lambda log: len(log.prompts()) == 1)
    house.until(lambda: client.status()["queue_depth"] == 0)
    client.submit_prompt("old [[say hello]]")
    pane = terminal.agent_pane(session.tmux, session.tmux_session_name)
    home = session.manifest.launch_plan.home_selector
    session.tmux.run("respawn-pane", "-k", "-e", f"{home.env_var}={home.home_path}", "-t", pane.pane_id)
    house.until(lambda: client.status()["request_admission"] == "blocked_reconciliation")
    return session


def posthouse(house: House, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("posthouse")), *words],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(house.folder),
            "HOUMAO_GLOBAL_REGISTRY_DIR": str(house.folder / "registry"),
            "HOUMAO_GLOBAL_RUNTIME_DIR": str(house.folder / "runtime"),
            "HOUMAO_GLOBAL_MAILBOX_DIR": str(house.folder / "mailbox"),
        },
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    ("decision", "prompts", "state"),
    [
        ("replay", ["long [[wait 600]]", "old [[say hello]]", "new [[say hello]]"], "completed"),
        ("discard", ["long [[wait 600]]", "new [[say hello]]"], "failed"),
    ],
)
def test_the_command_decides_and_the_gateway_goes_on(
    house: House, decision: str, prompts: list[str], state: str
) -> None:
    """What waited is carried out or failed as decided, once; new work is taken after it."""
    session = replaced(house)

    done = posthouse(house, "agents", "gateway", "reconcile", "gpu", f"--{decision}", "--json")
    house.client(session).submit_prompt("new [[say hello]]")
    house.settle(session)

    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["decision"], told["managed_agent_instance_epoch"], len(told["request_ids"])) == (
        decision,
        2,
        1,
    )
    count = len(prompts)
    assert house.truth(session).wait(lambda log: len(log.prompts()) == count).prompts() == prompts
    assert [row[1] for row in house.rows(session)] == ["completed", state, "completed"]
    events = list(read_events(session.gateway_root / gf.EVENTS))
    assert [event["decision"] for event in events if event["kind"] == "reconciled"] == [decision]


def test_without_anything_to_decide_the_command_says_so(house: House) -> None:
    """It changes nothing, and its exit code is that of a conflict."""
    session = house.launch(headless=True)
    house.attach(session)

    done = posthouse(house, "agents", "gateway", "reconcile", "gpu", "--discard")
    neither = posthouse(house, "agents", "gateway", "reconcile", "gpu")

    assert done.returncode != 0
    assert "there is nothing to decide" in done.stderr
    assert neither.returncode == 2
    assert house.client(session).status()["managed_agent_instance_epoch"] == 1


def test_a_diagnostic_log_is_kept_for_whoever_asks(house: House) -> None:
    """Attach takes the wish, the gateway writes the log, and the next attach remembers it."""
    session = house.launch(headless=True)

    done = posthouse(
        house, "agents", "gateway", "attach", "gpu", "--diagnostics", "--diagnostics-max-bytes", "500000",
        "--diagnostics-backups", "2",
    )  # fmt: skip
    house.client(session).submit_prompt("whisper [[say hello]]")
    house.settle(session)

    assert (done.returncode, done.stderr) == (0, "")
    wish = {"enabled": True, "max_bytes": 500000, "backup_count": 2}
    assert house.read(session, gf.DESIRED_CONFIG)["desired_diagnostic_logging"] == wish
    log = (session.gateway_root / gf.DIAGNOSTIC_LOG).read_text()
    entries = [json.loads(line) for line in log.splitlines()]
    assert ("POST", "/v1/requests", 202) in [
        (one["method"], one["path"], one["status_code"]) for one in entries
    ]
    assert "whisper" not in log
    refused = posthouse(house, "agents", "gateway", "attach", "gpu", "--diagnostics-backups", "2")
    assert refused.returncode == 2
