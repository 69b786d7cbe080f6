"""The `Tool` adapter of the scripted agent."""

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
from posthouse.tools.scripted.prompt_escaping import escape
from posthouse.tools.scripted.transcript import Transcript
from posthouse.tools.tool import (
    Account,
    Chat,
    EvidenceRules,
    Exchange,
    HeadlessTurn,
    HookReport,
    Launch,
    Program,
    Setup,
    Tool,
    TurnSignal,
)
from posthouse.tools.transcripts import TranscriptRecord

_PROGRAM = Path(__file__).with_name("program.py")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LOCK_SECONDS = 5.0
_TAIL_BYTES = 4 * 1024 * 1024
_TURN_SIGNALS: Mapping[str, TurnSignal] = {
    "UserPromptSubmit": "submitted",
    "Stop": "ended",
    "StopFailure": "failed",
    "PermissionRequest": "asking",
}


class ScriptedTool:
    """Our scripted agent CLI. Its settings are safe for every persona."""

    name = "scripted"
    home_variable = HOME_VARIABLE
    headless_backend: Backend = "claude_headless"
    role_method: RoleMethod = "native_append_system_prompt"
    reset_command = "/clear"
    #: The slowest persona loses an Enter for 200 ms after a paste.
    settle_seconds = 0.25
    evidence_rules = EvidenceRules()

    def executable(self) -> str:
        return sys.executable

    def version(self) -> str | None:
        return __version__

    def account(self, user_home: Path, variables: Mapping[str, str]) -> Account:
        """It needs no login."""
        return Account(kind="none needed", is_shareable=True)

    def check(self, setup: Setup) -> Sequence[str]:
        return ()

    def prepare_home(self, setup: Setup) -> Mapping[str, str]:
        """Trust the working directory, so that no dialog opens, and configure the reporting hooks.

        Raises:
            BadSettings: The home's settings are not a JSON object.
        """
        home = files.private_folder(setup.home)
        with locks.hold(home / ".settings.lock", wait_seconds=_LOCK_SECONDS):
            path = home / hooks.SETTINGS_FILE
            found = settings.read(path)
            wanted = _prepare_settings(found, setup)
            if wanted != found:
                files.write_json(path, wanted, durable=True)
        return {}

    def skills_folder(self, home: Path) -> Path:
        return home / "skills"

    def turn_signal(self, report: HookReport) -> TurnSignal | None:
        return _TURN_SIGNALS.get(report.event)

    def submitted_prompt(self, report: HookReport) -> str | None:
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

    def turn_program(self, launch: Launch, turn: HeadlessTurn) -> Program:
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

    def escape_prompt(self, prompt: str) -> str:
        return escape(prompt)

    def transcript(self, home: Path, working_directory: Path) -> Path | None:
        found = Transcript.latest(home, working_directory)
        return None if found is None else found.path

    def exchanges(self, home: Path, working_directory: Path) -> Sequence[Exchange]:
        transcript = Transcript.latest(home, working_directory)
        return () if transcript is None else _parse(transcripts.read(transcript.path, max_bytes=_TAIL_BYTES))

    def _start(self, launch: Launch, model: str | None, level: int | None) -> tuple[str, ...]:
        start = (self.executable(), "-I", "-S", str(_PROGRAM), *launch.args)
        if model is not None:
            start += ("--model", model)
        if level is not None:
            start += ("--effort", _EFFORTS[min(max(level, 1), len(_EFFORTS)) - 1])
        return start


def _role_arguments(launch: Launch, chat: Chat) -> tuple[str, ...]:
    """The role, for a new conversation only; a continued one has it."""
    if chat.mode != "new" or not launch.role_text:
        return ()
    return ("--append-system-prompt", launch.role_text)


def _chat_arguments(chat: Chat) -> tuple[str, ...]:
    if chat.mode == "exact" and chat.id is not None:
        return ("--resume", chat.id)
    return ("--continue",) if chat.mode == "latest" else ()


def _prepare_settings(settings: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    trusted = settings.get("trusted")
    folders = [str(folder) for folder in trusted] if isinstance(trusted, list) else []
    folder = str(setup.working_directory.resolve())
    reporting = {event: spool.command(setup.spool, event) for event in _TURN_SIGNALS} if setup.spool else {}
    return {
        **settings,
        "hooks": {**settings.get("hooks", {}), **reporting},
        "trusted": folders if folder in folders else [*folders, folder],
    }


def _parse(records: Iterable[TranscriptRecord]) -> list[Exchange]:
    found: list[Exchange] = []
    for record in records:
        fields = record.fields
        if fields["type"] == "prompt":
            asked = Exchange(prompt=fields["text"], submitted_at_utc=fields["at"], position=record.position)
            found.append(asked)
        elif fields["type"] == "withdrawn" and found:
            found.pop()
        elif fields["type"] == "outcome":
            found = transcripts.close_exchanges(
                found, outcome=fields["outcome"], answer=fields["answer"], usage=fields.get("usage")
            )
    return found


TOOL: Tool = ScriptedTool()
