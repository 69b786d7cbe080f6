"""The scripted agent for whoever drives it."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from posthouse import __version__
from posthouse.contracts.manifest import Backend, RoleMethod
from posthouse.support import files, locks
from posthouse.terminal.screen import Screen, Surface
from posthouse.tools import settings, spool, transcripts
from posthouse.tools.scripted import hooks, surface
from posthouse.tools.scripted.agent import HOME_VARIABLE
from posthouse.tools.scripted.prompt_escaping import guard
from posthouse.tools.scripted.transcript import Transcript
from posthouse.tools.tool import (
    Account,
    Chat,
    Exchange,
    Launch,
    Meaning,
    Program,
    Report,
    Setup,
    Testimony,
    Tool,
    TurnOrder,
)
from posthouse.tools.transcripts import Record

_PROGRAM = Path(__file__).with_name("program.py")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LOCK_SECONDS = 5.0
_TAIL_BYTES = 4 * 1024 * 1024
_MEANINGS: Mapping[str, Meaning] = {
    "UserPromptSubmit": "submitted",
    "Stop": "ended",
    "StopFailure": "failed",
    "PermissionRequest": "asking",
}


class ScriptedTool:
    """Our own agent CLI. Safe for every persona: it knows the worst of each."""

    name = "scripted"
    home_variable = HOME_VARIABLE
    headless_backend: Backend = "claude_headless"
    role_method: RoleMethod = "native_append_system_prompt"
    reset_command = "/clear"
    #: The slowest persona loses an Enter for 200 ms after a paste.
    settle_seconds = 0.25
    testimony = Testimony()

    def executable(self) -> str:
        return sys.executable

    def version(self) -> str | None:
        return __version__

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        """It needs none."""
        return Account(kind="none needed", is_shareable=True)

    def check(self, setup: Setup) -> Sequence[str]:
        return ()

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        """Trust the working directory, so that no dialog waits for a person, and report events.

        Raises:
            BadSettings: The home has settings that are not a JSON object.
        """
        home = files.private_folder(setup.home)
        with locks.hold(home / ".settings.lock", wait_seconds=_LOCK_SECONDS):
            path = home / hooks.SETTINGS_FILE
            found = settings.read(path)
            wanted = _prepared(found, setup)
            if wanted != found:
                files.write_json(path, wanted, durable=True)
        return {}

    def skills_folder(self, home: Path) -> Path:
        return home / "skills"

    def meaning(self, report: Report) -> Meaning | None:
        return _MEANINGS.get(report.event)

    def submitted_prompt(self, report: Report) -> str | None:
        prompt = report.payload.get("prompt")
        return prompt if isinstance(prompt, str) else None

    def tui_program(self, launch: Launch, chat: Chat) -> Program:
        return Program(
            argv=(
                *self._start(launch, launch.model, launch.reasoning_level),
                *_role_arguments(launch, chat),
                *_chat_arguments(chat),
            ),
            environment={HOME_VARIABLE: str(launch.home)},
        )

    def turn_program(self, launch: Launch, turn: TurnOrder) -> Program:
        model = turn.model or launch.model
        level = launch.reasoning_level if turn.reasoning_level is None else turn.reasoning_level
        return Program(
            argv=(
                *self._start(launch, model, level),
                "-p",
                "--verbose",
                *_role_arguments(launch, turn.chat),
                *_chat_arguments(turn.chat),
                "--output-format",
                "stream-json",
            ),
            environment={HOME_VARIABLE: str(launch.home)},
            stdin=turn.prompt,
        )

    def read_surface(self, screen: Screen, version: str | None = None) -> Surface:
        return surface.read(screen)

    def guard(self, prompt: str) -> str:
        return guard(prompt)

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        found = Transcript.latest(home, working_directory)
        return None if found is None else found.path

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        transcript = Transcript.latest(home, working_directory)
        return (
            () if transcript is None else _exchanges(transcripts.read(transcript.path, max_bytes=_TAIL_BYTES))
        )

    def _start(self, launch: Launch, model: str | None, level: int | None) -> tuple[str, ...]:
        start = (self.executable(), "-I", "-S", str(_PROGRAM), *launch.args)
        if model is not None:
            start += ("--model", model)
        if level is not None:
            start += ("--effort", _EFFORTS[min(max(level, 1), len(_EFFORTS)) - 1])
        return start


def _role_arguments(launch: Launch, chat: Chat) -> tuple[str, ...]:
    """Only a new conversation is given its role; a continued one remembers."""
    if chat.mode != "new" or not launch.role_text:
        return ()
    return ("--append-system-prompt", launch.role_text)


def _chat_arguments(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "exact" and chat.id is not None:
        return ("--resume", chat.id)
    return ("--continue",) if chat.mode == "latest" else ()


def _prepared(settings: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    trusted = settings.get("trusted")
    folders = [str(folder) for folder in trusted] if isinstance(trusted, list) else []
    folder = str(setup.working_directory.resolve())
    reporting = {event: spool.command(setup.spool, event) for event in _MEANINGS} if setup.spool else {}
    return {
        **settings,
        "hooks": {**settings.get("hooks", {}), **reporting},
        "trusted": folders if folder in folders else [*folders, folder],
    }


def _exchanges(records: Iterable[Record]) -> list[Exchange]:
    found: list[Exchange] = []
    for record in records:
        fields = record.fields
        if fields["type"] == "prompt":
            asked = Exchange(prompt=fields["text"], submitted_at_utc=fields["at"], place=record.place)
            found.append(asked)
        elif fields["type"] == "withdrawn" and found:
            found.pop()
        elif fields["type"] == "outcome":
            found = transcripts.close(
                found, outcome=fields["outcome"], answer=fields["answer"], usage=fields.get("usage")
            )
    return found


TOOL: Tool = ScriptedTool()
