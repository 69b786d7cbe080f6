"""A config home that asks a person nothing: onboarded, trusted, with titles, hooks and a login."""

from collections.abc import Mapping
from typing import Any

from posthouse.support import files, locks
from posthouse.tools import settings
from posthouse.tools.claude import hooks, login
from posthouse.tools.claude.login import SETTINGS, STATE, Login
from posthouse.tools.tool import Setup

#: In the settings, where they count more than what the program is given.
_VARIABLES = {
    # The title alone tells in every state whether a turn runs.
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "0",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    # It takes a digit for an answer.
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
}
#: The program knows an approved key by its end.
_KEY_END = 20
_LOCK_SECONDS = 5.0


def check(setup: Setup) -> None:
    """Return when `prepare` can do its work. Writes nothing.

    Raises:
        LoginMissing: The agent would have no account.
        BadSettings: Settings in the home, or the person's own, can't be read.
    """
    _wanted(setup, login.required(setup))


def prepare(setup: Setup) -> Mapping[str, str]:
    """Make the home ready; a second call changes nothing. Returns the variables that share the login.

    Raises:
        LoginMissing, BadSettings: As `check`; nothing was written.
    """
    found = login.required(setup)
    home = files.private_folder(setup.home)
    with locks.hold(home / ".posthouse.lock", wait_seconds=_LOCK_SECONDS):
        for name, (content, wanted) in _wanted(setup, found).items():
            if wanted != content:
                files.write_json(home / name, wanted, durable=True)
    return found.variables


def _wanted(setup: Setup, found: Login) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Each file of the home: what it holds, and what it has to hold."""
    state = settings.read(setup.home / STATE)
    wishes = settings.read(setup.home / SETTINGS)
    return {
        STATE: (state, _state(state, setup, found)),
        SETTINGS: (wishes, _settings(wishes, setup, found)),
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
        # Without it the program seeks its maker's host, whatever address it was given.
        "hasCompletedOnboarding": True,
        "projects": {**projects, folder: {**project, "hasTrustDialogAccepted": True}},
        **({"customApiKeyResponses": _approving(answers, key)} if key else {}),
    }


def _approving(answers: Mapping[str, Any], key: str) -> dict[str, Any]:
    end = key[-_KEY_END:]
    return {
        **answers,
        "approved": [*_without(answers.get("approved"), end), end],
        "rejected": _without(answers.get("rejected"), end),
    }


def _settings(wishes: dict[str, Any], setup: Setup, found: Login) -> dict[str, Any]:
    path = setup.home / SETTINGS
    return {
        **wishes,
        **found.settings,
        "env": {**settings.section(wishes, "env", path), **_VARIABLES},
        "hooks": hooks.reporting(settings.section(wishes, "hooks", path), setup.spool),
        # Launching with all permissions is the answer to the dialog that would ask about them.
        **({"skipDangerousModePermissionPrompt": True} if setup.permissions == "all" else {}),
    }


def _without(values: object, value: str) -> list[Any]:
    return [each for each in values if each != value] if isinstance(values, list) else []
