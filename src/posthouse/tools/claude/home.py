"""Prepares a config home that needs no user input: onboarding, trust, titles, hooks and login."""

from collections.abc import Mapping
from typing import Any

from posthouse.support import files, locks
from posthouse.tools import settings
from posthouse.tools.claude import hooks, login
from posthouse.tools.claude.login import SETTINGS, STATE, Login
from posthouse.tools.tool import Setup

#: Set in the settings, where they override the program's environment.
_VARIABLES = {
    # Only the title shows in every state whether a turn runs.
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "0",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    # The survey reads a typed digit as an answer.
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
}
#: The program identifies an approved key by its last characters.
_KEY_SUFFIX_CHARS = 20
_LOCK_SECONDS = 5.0


def check(setup: Setup) -> None:
    """Check that `prepare` can succeed. Writes nothing.

    Raises:
        InvalidInput: The agent would have no account.
        BadSettings: Settings of the home or the user can't be read.
    """
    _plan_files(setup, login.resolve(setup))


def prepare(setup: Setup) -> Mapping[str, str]:
    """Configure the home. Idempotent. Returns the variables that share the login.

    Raises:
        InvalidInput, BadSettings: As `check`; nothing was written.
    """
    found = login.resolve(setup)
    home = files.private_folder(setup.home)
    with locks.hold(home / ".posthouse.lock", wait_seconds=_LOCK_SECONDS):
        for name, (content, wanted) in _plan_files(setup, found).items():
            if wanted != content:
                files.write_json(home / name, wanted, durable=True)
    return found.variables


def _plan_files(setup: Setup, found: Login) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Each file of the home: its current and its desired content."""
    state = settings.read(setup.home / STATE)
    user_settings = settings.read(setup.home / SETTINGS)
    return {
        STATE: (state, _state(state, setup, found)),
        SETTINGS: (user_settings, _settings(user_settings, setup, found)),
    }


def _state(state: dict[str, Any], setup: Setup, found: Login) -> dict[str, Any]:
    path = setup.home / STATE
    projects = settings.section(state, "projects", path)
    folder = str(setup.working_directory.resolve())
    project = settings.section(projects, folder, path)
    key = {**setup.variables, **found.variables}.get(login.API_KEY)
    answers = settings.section(state, "customApiKeyResponses", path)
    return {
        **state,
        # Without it the program contacts its vendor's host, whatever endpoint is configured.
        "hasCompletedOnboarding": True,
        "projects": {**projects, folder: {**project, "hasTrustDialogAccepted": True}},
        **({"customApiKeyResponses": _approve_key(answers, key)} if key else {}),
    }


def _approve_key(answers: Mapping[str, Any], key: str) -> dict[str, Any]:
    end = key[-_KEY_SUFFIX_CHARS:]
    return {
        **answers,
        "approved": [*_without(answers.get("approved"), end), end],
        "rejected": _without(answers.get("rejected"), end),
    }


def _settings(user_settings: dict[str, Any], setup: Setup, found: Login) -> dict[str, Any]:
    path = setup.home / SETTINGS
    return {
        **user_settings,
        **found.settings,
        "env": {**settings.section(user_settings, "env", path), **_VARIABLES},
        "hooks": hooks.merge_hooks(settings.section(user_settings, "hooks", path), setup.spool),
        # A launch with all permissions has already accepted this dialog.
        **({"skipDangerousModePermissionPrompt": True} if setup.permissions == "all" else {}),
    }


def _without(values: object, value: str) -> list[Any]:
    return [each for each in values if each != value] if isinstance(values, list) else []
