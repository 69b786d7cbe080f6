"""The mailbox skills, followed by the real CLIs: what a skill tells is done, and the mailbox shows it."""

from pathlib import Path
from typing import Any

import pytest

from posthouse.clients.gateway import GatewayClient
from posthouse.testing import mail_clis
from posthouse.testing.cli_rig import Place
from posthouse.testing.model_api.script import Step
from posthouse.testing.scripted_agents import House
from posthouse.tools import skills

ROUND, COMMS = skills.NAMES


def _take_up(tool: str, name: str, home: Path) -> Step:
    """How the model of that CLI takes up a skill."""
    if tool == "claude":
        return Step(tool="Skill", arguments={"skill": name})
    if tool == "gemini":
        return Step(tool="activate_skill", arguments={"name": name})
    return Step(shell=f"cat {home}/skills/{name}/SKILL.md")


def _boxes(client: GatewayClient) -> dict[str, list[tuple[Any, ...]]]:
    """Subject, text, read and answered of every message, oldest first, by box."""
    names = ("subject", "body_text", "read", "answered")
    return {
        box: [
            tuple(message[name] for name in names)
            for message in reversed(client.mail("list", {"box": box, "include_body": True})["messages"])
        ]
        for box in ("inbox", "sent", "archive")
    }


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini"])
def test_a_cli_finds_both_skills_and_their_commands_do_what_they_say(
    house: House, place: Place, tool: str
) -> None:
    """Both are offered to the model; a round of mail and two letters by the book are in the mailbox."""
    session, base_url = mail_clis.launch(house, tool, place.api.base_url)
    client = house.client(session)
    note = {"subject": "plans", "body_content": "What next?", "attachments": []}
    ref = client.mail("post", note)["message"]["message_ref"]
    there = {"BASE_URL": base_url, "MESSAGE_REF": ref, "ADDRESS": mail_clis.ADDRESS, "ANSWER": "Rest."}
    home = Path(session.manifest.launch_plan.home_selector.home_path)
    by_the_round = mail_clis.commands_of(ROUND, there)[:5]
    by_curl, by_command = (
        mail_clis.commands_of(COMMS, {**there, "SUBJECT": way, "TEXT": f"by {way}"})[index]
        for index, way in ((1, "gateway"), (2, "command"))
    )
    steps = [
        _take_up(tool, ROUND, home),
        *(Step(shell=command) for command in by_the_round),
        _take_up(tool, COMMS, home),
        *(Step(shell=command) for command in (by_curl, by_command)),
        Step(text="All mail is done."),
    ]
    for step in steps:
        place.api.queue(step)

    asked = client.submit_prompt("You have mail.")["request_id"]
    house.until(lambda: client.receipt(asked)["state"] not in ("accepted", "running"))

    assert (client.receipt(asked)["state"], len(place.api.main_records())) == ("completed", len(steps))
    first = place.api.main_records()[0].seq
    assert all(first in place.api.mentioning(_description(name)) for name in skills.NAMES)
    taken_up = place.api.mentioning("Do one round, then stop")
    assert taken_up and first not in taken_up
    assert place.api.mentioning(f"{base_url}/v1/mail/list")
    assert _boxes(client) == {
        "inbox": [("gateway", "by gateway", False, False), ("command", "by command", False, False)],
        "sent": [("Re: plans", "Rest.", True, False)],
        "archive": [("plans", "What next?", True, True)],
    }


def _description(name: str) -> str:
    """The beginning of what a CLI shows of a skill."""
    return skills.text_of(name).split("description: ", 1)[1].split(".")[0]
