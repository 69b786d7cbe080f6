"""One run of the scripted agent, shared by both modes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from posthouse.tools.scripted.arguments import Arguments
from posthouse.tools.scripted.hooks import HookRunner
from posthouse.tools.scripted.personas import Persona
from posthouse.tools.scripted.signals import SignalQueue
from posthouse.tools.scripted.transcript import Transcript
from posthouse.tools.scripted.truth import TruthWriter

HOME_VARIABLE = "POSTHOUSE_SCRIPTED_HOME"
TRUTH_VARIABLE = "POSTHOUSE_SCRIPTED_TRUTH"
PERSONA_VARIABLE = "POSTHOUSE_SCRIPTED_PERSONA"

DEFAULT_MODEL = "scripted-1"


class NoConversation(Exception):
    """The conversation to continue does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """The home, the command line, and the services of one run."""

    arguments: Arguments
    home: Path
    working_directory: Path
    environment: Mapping[str, str]
    persona: Persona
    settings: Mapping[str, object]
    truth: TruthWriter
    hooks: HookRunner
    signals: SignalQueue

    @property
    def model(self) -> str:
        return self.arguments.model or DEFAULT_MODEL

    def conversation(self) -> Transcript:
        """The conversation that the command line names; a new one if it names none.

        Raises:
            NoConversation: The named conversation does not exist.
        """
        found = None
        if self.arguments.resume is not None:
            found = Transcript.find(self.home, self.working_directory, self.arguments.resume)
            if found is None:
                raise NoConversation(f"No conversation found with session ID: {self.arguments.resume}")
        elif self.arguments.continues:
            found = Transcript.latest(self.home, self.working_directory)
        return found or self.new_conversation()

    def new_conversation(self) -> Transcript:
        return Transcript.new(
            self.home,
            self.working_directory,
            role=self.arguments.role,
            is_kept=self.persona.has_transcript,
        )
