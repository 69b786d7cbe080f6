"""One run of the scripted agent: what both modes are given."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from posthouse.tools.scripted.arguments import Arguments
from posthouse.tools.scripted.hooks import Hooks
from posthouse.tools.scripted.personas import Persona
from posthouse.tools.scripted.signals import Signals
from posthouse.tools.scripted.transcript import Transcript
from posthouse.tools.scripted.truth import Truth

HOME_VARIABLE = "POSTHOUSE_SCRIPTED_HOME"
TRUTH_VARIABLE = "POSTHOUSE_SCRIPTED_TRUTH"
PERSONA_VARIABLE = "POSTHOUSE_SCRIPTED_PERSONA"

DEFAULT_MODEL = "scripted-1"


class NoConversation(Exception):
    """The conversation to continue does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The home, the wishes of the command line, and the parts of the machine it may use."""

    arguments: Arguments
    home: Path
    working_directory: Path
    environment: Mapping[str, str]
    persona: Persona
    settings: Mapping[str, object]
    truth: Truth
    hooks: Hooks
    signals: Signals

    @property
    def model(self) -> str:
        return self.arguments.model or DEFAULT_MODEL

    def conversation(self) -> Transcript:
        """The conversation the command line asks for; a new one unless it names another.

        Raises:
            NoConversation: It names one that is not there.
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
