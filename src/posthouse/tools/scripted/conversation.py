"""What a turn leaves behind: truth log, transcript and hooks, each when the persona is done with it."""

from collections.abc import Callable
from typing import Literal

from posthouse.tools.scripted.agent import Agent
from posthouse.tools.scripted.script import Knowledge
from posthouse.tools.scripted.transcript import Transcript

Outcome = Literal["success", "interrupted", "error"]
#: Runs an action some seconds from now.
Later = Callable[[float, Callable[[], None]], None]


class Conversation:
    """One conversation as it grows. The truth log never lags; the rest does what the persona says."""

    def __init__(self, agent: Agent, transcript: Transcript, later: Later) -> None:
        self._agent = agent
        self._transcript = transcript
        self._later = later
        self._prompts = list(transcript.prompts())
        self._role = transcript.role() or agent.arguments.role

    @property
    def session_id(self) -> str:
        return self._transcript.session_id

    def restart(self) -> None:
        """Forget everything: a fresh conversation under a new id."""
        self._transcript = self._agent.new_conversation()
        self._prompts = []
        self._agent.truth.write("reset", session_id=self.session_id)

    def knowledge(self) -> Knowledge:
        """What the agent can tell at this moment."""
        return Knowledge(
            earlier_prompts=tuple(self._prompts),
            role=self._role,
            working_directory=str(self._agent.working_directory),
            environment=self._agent.environment,
            allows_everything=self._agent.arguments.allows_everything,
        )

    def last_prompt(self) -> str:
        return self._prompts[-1] if self._prompts else ""

    def took(self, prompt: str, *, steers: bool = False) -> None:
        """A prompt was submitted and is being worked on."""
        self._agent.truth.write("prompt", text=prompt, session_id=self.session_id, steers=steers)
        self._prompts.append(prompt)
        self._record("prompt", text=prompt)
        self._fire("UserPromptSubmit", prompt=prompt)

    def asked(self, kind: str) -> None:
        """A person is being asked; the turn waits."""
        self._agent.truth.write("dialog", text=kind, session_id=self.session_id)
        self._fire("PermissionRequest", kind=kind)

    def withdrew(self) -> None:
        """The last prompt went back to the composer as if nothing had been."""
        self._prompts.pop()
        self._agent.truth.write("withdrawn", session_id=self.session_id)
        self._record("withdrawn")

    def interrupted(self) -> None:
        self._agent.truth.write("interrupt", session_id=self.session_id)

    def ended(self, outcome: Outcome, answer: str) -> None:
        """The turn is over. After an interruption no hook says so."""
        self._agent.truth.write("answer", text=answer, outcome=outcome, session_id=self.session_id)
        usage = {"input_tokens": len(self.last_prompt().split()), "output_tokens": len(answer.split())}
        self._record("outcome", outcome=outcome, answer=answer, usage=usage)
        if outcome != "interrupted":
            event = "Stop" if outcome == "success" else "StopFailure"
            self._fire(event, last_assistant_message=answer)

    def _record(self, kind: str, **fields: object) -> None:
        transcript = self._transcript
        self._later(self._agent.persona.lag_seconds, lambda: transcript.append(kind, **fields))

    def _fire(self, event: str, **fields: object) -> None:
        common = {
            "session_id": self.session_id,
            "transcript_path": str(self._transcript.path),
            "cwd": str(self._agent.working_directory),
        }
        self._later(
            self._agent.persona.lag_seconds, lambda: self._agent.hooks.fire(event, **common, **fields)
        )
