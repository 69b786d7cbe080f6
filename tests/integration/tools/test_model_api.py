"""The scripted model API in front of the real CLIs: each of them takes it for its maker's."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from posthouse.testing import clis
from posthouse.testing.model_api import ModelApi
from posthouse.testing.waiting import LIMIT_SECONDS

CliEnvironment = Callable[[str], dict[str, str]]

_COMMANDS = {
    "claude": ["claude", "-p"],
    "codex": ["codex", "exec", "--skip-git-repo-check"],
    "gemini": ["gemini", "--skip-trust", "-p"],
}
_APIS = {"claude": "anthropic", "codex": "openai", "gemini": "gemini"}


def _prepare(tool: str, home: Path, base_url: str) -> dict[str, str]:
    """The least that lets a CLI start without asking; returns the variable that names its home."""
    match tool:
        case "claude":
            (home / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
            return {"CLAUDE_CONFIG_DIR": str(home)}
        case "codex":
            (home / "config.toml").write_text(clis.codex_config(base_url))
            return {"CODEX_HOME": str(home)}
        case _:
            settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
            (home / ".gemini").mkdir()
            (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
            return {"GEMINI_CLI_HOME": str(home)}


def _ask(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini"])
def test_a_real_cli_gets_the_scripted_answer(
    tool: str, cli_environment: CliEnvironment, cli_home: Path, model_api: ModelApi
) -> None:
    """Without a network, a CLI answers what its prompt told the model to say."""
    environment = cli_environment(tool) | _prepare(tool, cli_home, model_api.base_url)

    answer = _ask([*_COMMANDS[tool], "mock:ok"], cli_home, environment)

    asked = [(record.api, record.prompt, record.outcome) for record in model_api.main_records()]
    assert (answer, asked) == ("OK", [(_APIS[tool], "mock:ok", "completed")])


@pytest.mark.parametrize("model", [None, "gpt-5"])
def test_codex_runs_a_command_with_either_kind_of_model(
    model: str | None, cli_environment: CliEnvironment, cli_home: Path, model_api: ModelApi
) -> None:
    """Newer models reach the shell through code, older ones by a tool; a scripted command runs with both."""
    environment = cli_environment("codex") | _prepare("codex", cli_home, model_api.base_url)
    chosen = ["-m", model] if model else []

    _ask(
        [*_COMMANDS["codex"], *chosen, "--dangerously-bypass-approvals-and-sandbox", "mock:shell mock:ok"],
        cli_home,
        environment,
    )

    assert (cli_home / "mock-made-this.txt").exists()


def test_the_installed_versions_are_those_pinned(agent_clis: Path) -> None:
    """What tests run against is what the facts were measured with."""
    assert clis.versions(agent_clis) == {"claude": "2.1.197", "codex": "0.166.0", "gemini": "0.61.0"}
