"""The agents that prompts are delivered to: the real CLIs at the scripted model API, and our own personas."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.session import Session
from posthouse.testing import clis
from posthouse.testing.blocking_agent import Gate
from posthouse.testing.delivery.rig import Subject
from posthouse.testing.model_api import ModelApi
from posthouse.testing.truth import TruthLog

PERSONAS = ("plain", "claude", "codex", "gemini")


def real(tool: str, api: ModelApi, folder: Path) -> Subject:
    """A real CLI that talks to *api* alone. It must be on PATH."""
    address = (
        {"OPENAI_BASE_URL": f"{api.base_url}/v1", "OPENAI_API_KEY": clis.API_KEY} if tool == "codex" else {}
    )

    def received(made: Session) -> Sequence[str]:
        return [record.prompt for record in api.main_records()]

    return Subject(
        spec=LaunchSpec(
            tool=tool,
            name=tool,
            working_directory=_below(folder, "project"),
            login="env",
            model={"codex": "gpt-5"}.get(tool),
            user_home=folder,
            environment={
                **clis.NO_NETWORK,
                **clis.offline_variables(tool, api.base_url),
                **address,
                "HOME": str(folder),
                "TMPDIR": str(_below(folder, "tmp")),  # claude and codex leave files there
            },
        ),
        received=received,
        hold=lambda: ("take your time mock:hold", api.release),
    )


def scripted(persona: str, folder: Path) -> Subject:
    """Our own agent, behaving like *persona* at its worst."""

    numbers = itertools.count()

    def hold() -> tuple[str, Callable[[], None]]:
        gate = Gate(folder, f"gate-{next(numbers)}")
        return f"take your time {gate.closed}", gate.open

    def received(made: Session) -> Sequence[str]:
        home = Path(made.manifest.launch_plan.home_selector.home_path)
        return TruthLog(home / "truth.jsonl").prompts()

    return Subject(
        spec=LaunchSpec(
            tool="scripted",
            name=persona,
            working_directory=_below(folder, "project"),
            args=("--persona", persona),
        ),
        received=received,
        hold=hold,
    )


def _below(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    return made
