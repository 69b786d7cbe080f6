"""Real CLIs with a mailbox and a gateway, launched as the command line does it, offline."""

from collections.abc import Mapping

from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.testing import clis
from posthouse.testing.house import House

#: Who is launched.
NAME = "ann"
ADDRESS = "ann@houmao.localhost"
#: Without one, gemini asks a small model which one to take.
_MODELS = {"gemini": "gemini-2.5-flash"}


def launch(house: House, tool: str, api: str, *, args: tuple[str, ...] = ()) -> tuple[Session, str]:
    """A headless agent that asks the model API at *api*, and the address of its gateway."""
    made = house.agents.launch(
        LaunchSpec(
            tool=tool,
            name=NAME,
            headless=True,
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
