"""Records a turn in the truth log, the transcript and the hooks, with the persona's lag."""

from collections.abc import Callable
from typing import Literal

from posthouse.tools.scripted.agent import AgentRun
from posthouse.tools.scripted.script import ScriptContext
from posthouse.tools.scripted.transcript import Transcript

Outcome = Literal["success", "interrupted", "error"]
#: Runs an action some seconds from now.
Schedule = Callable[[float, Callable[[], None]], None]


class Conversation:
    """One conversation in progress. Transcript and hooks have the persona's lag; the truth log has none."""

    def __init__(self, agent: AgentRun, transcript: Transcript, schedule: Schedule) -> None:
        self._agent = agent
        self._transcript = transcript
        self._schedule = schedule
        self._prompts = list(transcript.prompts())
        self._role = transcript.role() or agent.arguments.role

    @property
    def session_id(self) -> str:
        return self._transcript.session_id

    def restart(self) -> None:
        """Start a new, empty conversation with a new id."""
        self._transcript = self._agent.new_conversation()
        self._prompts = []
        self._agent.truth.write("reset", session_id=self.session_id)

    def script_context(self) -> ScriptContext:
        """The facts that directives can query now."""
        return ScriptContext(
            earlier_prompts=tuple(self._prompts),
            role=self._role,
            working_directory=str(self._agent.working_directory),
            environment=self._agent.environment,
            allows_everything=self._agent.arguments.allows_everything,
        )

    def last_prompt(self) -> str:
        return self._prompts[-1] if self._prompts else ""

    def record_prompt(self, prompt: str, *, steers: bool = False) -> None:
        """A prompt was submitted and its turn started."""
        self._agent.truth.write("prompt", text=prompt, session_id=self.session_id, steers=steers)
        self._prompts.append(prompt)
        self._record("prompt", text=prompt)
        self._fire("UserPromptSubmit", prompt=prompt)

    def record_dialog(self, kind: str) -> None:
        """A dialog is open; the turn waits."""
        self._agent.truth.write("dialog", text=kind, session_id=self.session_id)
        self._fire("PermissionRequest", kind=kind)

    def record_withdrawal(self) -> None:
        """The last prompt was withdrawn to the composer."""
        self._prompts.pop()
        self._agent.truth.write("withdrawn", session_id=self.session_id)
        self._record("withdrawn")

    def record_interrupt(self) -> None:
        self._agent.truth.write("interrupt", session_id=self.session_id)

    def record_outcome(self, outcome: Outcome, answer: str) -> None:
        """The turn ended. No hook reports an interruption."""
        self._agent.truth.write("answer", text=answer, outcome=outcome, session_id=self.session_id)
        usage = {"input_tokens": len(self.last_prompt().split()), "output_tokens": len(answer.split())}
        self._record("outcome", outcome=outcome, answer=answer, usage=usage)
        if outcome != "interrupted":
            event = "Stop" if outcome == "success" else "StopFailure"
            self._fire(event, last_assistant_message=answer)

    def _record(self, kind: str, **fields: object) -> None:
        transcript = self._transcript
        self._schedule(self._agent.persona.lag_seconds, lambda: transcript.append(kind, **fields))

    def _fire(self, event: str, **fields: object) -> None:
        common = {
            "session_id": self.session_id,
            "transcript_path": str(self._transcript.path),
            "cwd": str(self._agent.working_directory),
        }
        self._schedule(
            self._agent.persona.lag_seconds, lambda: self._agent.hooks.fire(event, **common, **fields)
        )
