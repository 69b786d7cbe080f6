"""The mailbox skills, followed by the real CLIs: what a skill tells is done, and the mailbox shows it."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from posthouse.cli.companions import Companions
from posthouse.clients.gateway import GatewayClient
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.testing import clis
from posthouse.testing.cli_rig import Place
from posthouse.testing.house import House
from posthouse.testing.model_api.script import Step
from posthouse.tools import skills

ROUND, COMMS = skills.NAMES
ADDRESS = "ann@houmao.localhost"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: Ten steps, each with a process or two of its own, on a busy machine.
_TURN_SECONDS = 180.0
#: Where the commands of this clone are.
_BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What one CLI needs to be asked offline, and how its model takes up a skill."""

    tool: str
    variables: Mapping[str, str]
    model: str | None = None

    def take_up(self, name: str, home: Path) -> Step:
        if self.tool == "claude":
            return Step(tool="Skill", arguments={"skill": name})
        if self.tool == "gemini":
            return Step(tool="activate_skill", arguments={"name": name})
        return Step(shell=f"cat {home}/skills/{name}/SKILL.md")


def _subject(tool: str, base_url: str) -> Subject:
    return {
        "claude": Subject(
            tool=tool, variables={"ANTHROPIC_BASE_URL": base_url, "ANTHROPIC_API_KEY": clis.API_KEY}
        ),
        "codex": Subject(
            tool=tool, variables={"OPENAI_BASE_URL": f"{base_url}/v1", "OPENAI_API_KEY": clis.API_KEY}
        ),
        "gemini": Subject(
            tool=tool,
            variables={"GOOGLE_GEMINI_BASE_URL": base_url, "GEMINI_API_KEY": clis.API_KEY},
            model="gemini-2.5-flash",
        ),
    }[tool]


@pytest.fixture
def house(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Where real CLIs are launched as the command line does it, our own commands being on their PATH."""
    monkeypatch.setenv("PATH", f"{_BIN}:{os.environ['PATH']}")
    # Codex runs commands in a login shell, which makes PATH anew.
    (place.folder / ".bash_profile").write_text(f'export PATH="{_BIN}:$PATH"\n')
    roots = Roots(
        registry=place.folder / "registry",
        runtime=place.folder / "runtime",
        mailbox=place.folder / "mailbox",
    )
    registry = Registry(roots.registry)
    agents = Agents(roots, registry, place.server, Companions())
    made = House(agents=agents, registry=registry, folder=place.folder)
    yield made
    made.end()


def _launch(house: House, subject: Subject) -> tuple[Session, str]:
    """A headless agent with a mailbox and a gateway, whose address is the second value."""
    made = house.agents.launch(
        LaunchSpec(
            tool=subject.tool,
            name="ann",
            headless=True,
            working_directory=house.folder,
            permissions="all",
            login="env",
            model=subject.model,
            environment={**subject.variables, **clis.NO_NETWORK, "HOME": str(house.folder)},
            mailbox={},
        )
    )
    house.sessions.append(made)
    attached = house.attach(made)
    return made, f"http://{attached.gateway_host}:{attached.gateway_port}"


def _commands(skill: str, words: Mapping[str, str]) -> list[str]:
    """What the skill tells to run, with its capital words replaced as a model would."""
    found = []
    for block in _BLOCK.findall(skills.text_of(skill)):
        for word, value in words.items():
            block = block.replace(word, value)
        found.append(block.strip())
    return found


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
    subject = _subject(tool, place.api.base_url)
    session, base_url = _launch(house, subject)
    client = house.client(session)
    note = {"subject": "plans", "body_content": "What next?", "attachments": []}
    ref = client.mail("post", note)["message"]["message_ref"]
    there = {"BASE_URL": base_url, "MESSAGE_REF": ref, "ADDRESS": ADDRESS, "ANSWER": "Rest."}
    home = Path(session.manifest.launch_plan.home_selector.home_path)
    by_the_round = _commands(ROUND, there)[:5]
    by_curl, by_command = (
        _commands(COMMS, {**there, "SUBJECT": way, "TEXT": f"by {way}"})[index]
        for index, way in ((1, "gateway"), (2, "command"))
    )
    steps = [
        subject.take_up(ROUND, home),
        *(Step(shell=command) for command in by_the_round),
        subject.take_up(COMMS, home),
        *(Step(shell=command) for command in (by_curl, by_command)),
        Step(text="All mail is done."),
    ]
    for step in steps:
        place.api.queue(step)

    asked = client.submit_prompt("You have mail.")["request_id"]
    house.until(lambda: client.receipt(asked)["state"] not in ("accepted", "running"), seconds=_TURN_SECONDS)

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
