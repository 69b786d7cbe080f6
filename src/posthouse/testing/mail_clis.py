"""Real CLIs with a mailbox and a gateway, launched as the command line does it, offline."""

import re
from collections.abc import Mapping

from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.testing import clis
from posthouse.testing.scripted_agents import House
from posthouse.tools import skills

#: Who is launched.
NAME = "ann"
ADDRESS = "ann@houmao.localhost"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: Without one, gemini asks a small model which one to take.
_MODELS = {"gemini": "gemini-2.5-flash"}


def launch(
    house: House, tool: str, api: str, *, is_headless: bool = True, args: tuple[str, ...] = ()
) -> tuple[Session, str]:
    """An agent that asks the model API at *api*, and the address of its gateway."""
    made = house.agents.launch(
        LaunchSpec(
            tool=tool,
            name=NAME,
            headless=is_headless,
            working_directory=house.folder,
            permissions="all",
            login="env",
            model=_MODELS.get(tool),
            args=args,
            environment={**_account(tool, api), **clis.NO_NETWORK, "HOME": str(house.folder)},
            mailbox={},
        )
    )
    house.sessions.append(made)
    attached = house.attach(made)
    return made, f"http://{attached.gateway_host}:{attached.gateway_port}"


def _account(tool: str, api: str) -> Mapping[str, str]:
    accounts = {
        "claude": {"ANTHROPIC_BASE_URL": api, "ANTHROPIC_API_KEY": clis.API_KEY},
        "codex": {"OPENAI_BASE_URL": f"{api}/v1", "OPENAI_API_KEY": clis.API_KEY},
        "gemini": {"GOOGLE_GEMINI_BASE_URL": api, "GEMINI_API_KEY": clis.API_KEY},
    }
    return accounts.get(tool, {})


def commands_of(skill: str, words: Mapping[str, str]) -> list[str]:
    """What *skill* tells to run, with its capital *words* replaced as a model would."""
    found = []
    for block in _BLOCK.findall(skills.text_of(skill)):
        for word, value in words.items():
            block = block.replace(word, value)
        found.append(block.strip())
    return found
