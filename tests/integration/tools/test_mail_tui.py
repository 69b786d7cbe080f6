"""Mail and the real TUIs: a wake-up that is typed and followed, and an operation that they are asked for."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayClient, GatewayInvalid
from posthouse.contracts import gateway_files as gf
from posthouse.sessions.session import Session
from posthouse.testing import mail_clis
from posthouse.testing.cli_rig import Place
from posthouse.testing.scripted_agents import House
from posthouse.testing.waiting import wait_for
from posthouse.tools import skills

_NOTE = {"subject": "plans", "body_content": "What next?", "attachments": []}
_COMPACT = {"pre_notification_context_action": "compact"}
_ASKED = ("request_id", "operation", "transport", "principal_id", "address")


def _round(ref: str, base_url: str, home: Path) -> str:
    """What a model does that follows the skill, as words for the scripted one."""
    words = {"BASE_URL": base_url, "MESSAGE_REF": ref, "ANSWER": "Rest."}
    skill = skills.NAMES[0]
    commands = [f"cat {home}/skills/{skill}/SKILL.md", *mail_clis.commands_of(skill, words)[:5]]
    steps = [*({"shell": command} for command in commands), {"text": "All mail is done."}]
    return "\n".join(f"[[mock {json.dumps(step)}]]" for step in steps)


def _boxes(client: GatewayClient) -> dict[str, list[tuple[Any, ...]]]:
    names = ("subject", "read", "answered")
    return {
        box: [tuple(one[name] for name in names) for one in client.mail("list", {"box": box})["messages"]]
        for box in ("inbox", "sent", "archive")
    }


def _wakes(session: Session) -> list[str | None]:
    """What was done to the conversation before each wake-up."""
    with sqlite3.connect(session.gateway_root / gf.QUEUE) as connection:
        rows = connection.execute(
            "SELECT context_action_outcome FROM gateway_notifier_audit WHERE outcome = 'enqueued'"
        )
        return [told for (told,) in rows]


def _ask(house: House, place: Place, *words: str) -> dict[str, Any]:
    """Run a command of ours as a person would."""
    roots = house.agents.roots
    environment = {
        **os.environ,
        "HOUMAO_GLOBAL_REGISTRY_DIR": str(roots.registry),
        "HOUMAO_GLOBAL_RUNTIME_DIR": str(roots.runtime),
        "HOUMAO_GLOBAL_MAILBOX_DIR": str(roots.mailbox),
        "POSTHOUSE_TMUX_SOCKET": str(place.server.socket),
    }
    command = [str(Path(sys.executable).parent / "posthouse"), *words, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_a_tui_is_woken_for_mail_and_asked_for_it(house: House, place: Place, tool: str) -> None:
    """Mail is typed in, read, answered and archived, after a compaction where that is wished; and a report
    of its own comes back."""
    is_codex = tool == "codex"
    session, base_url = mail_clis.launch(house, tool, place.api.base_url, is_headless=False)
    client = house.client(session)
    ref = client.mail("post", _NOTE)["message"]["message_ref"]
    script = _round(ref, base_url, Path(session.manifest.launch_plan.home_selector.home_path))
    settings = {"interval_seconds": 3600, "mode": "unread_only"}
    if not is_codex:
        with pytest.raises(GatewayInvalid, match="Codex TUIs"):
            client.put_notifier({**settings, **_COMPACT})

    client.put_wake_settings({"wake": "immediate"})
    client.put_notifier({**settings, **(_COMPACT if is_codex else {}), "appendix_text": script})
    done = {"inbox": [], "sent": [("Re: plans", True, False)], "archive": [("plans", True, True)]}
    wait_for(lambda: _boxes(client) == done, told=lambda: f"{_boxes(client)} after {_wakes(session)}")
    client.put_notifier({**settings, **(_COMPACT if is_codex else {}), "appendix_text": ""})
    client.mail("post", {**_NOTE, "subject": "more plans"})
    wait_for(lambda: len(_wakes(session)) == 2)

    _ask(
        house,
        place,
        *("agents", "mailbox", "register", mail_clis.NAME, "--transport", "stalwart"),
        *("--base-url", "http://127.0.0.1:9"),
    )
    reported: list[dict[str, Any]] = []

    def is_asked() -> bool:
        order = ("--operation", "check", "--arguments", '{"since": "mock:report"}', "--watch-seconds", "170")
        reported.append(_ask(house, place, "internals", "mail-prompt", mail_clis.NAME, *order))
        return str(reported[-1]["status"]) != "busy"

    wait_for(is_asked)

    assert _wakes(session) == ["pre_notification_compact_completed" if is_codex else None] * 2
    *_, report = reported
    asked = {
        name: report[name] for name in ("request_id", "operation", "transport", "principal_id", "address")
    }
    assert (report["status"], report["preview_result"]) == ("submitted", {**asked, "result": {}})
