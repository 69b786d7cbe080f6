"""The scripted agent as a program: `python -I -S program.py [-p …]`. Standard library only.

Without `-p` it is a TUI on its terminal. It reads three variables: its home, the path of its truth log
(default: `truth.jsonl` in the home) and its persona (default: `plain`).
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posthouse.tools.scripted.agent import AgentRun
    from posthouse.tools.scripted.arguments import Arguments


def main(words: list[str]) -> int:
    """Run one headless turn, or the TUI until it ends; returns the exit code."""
    from posthouse.tools.scripted import arguments

    try:
        parsed = arguments.parse(words)
        agent = _agent(parsed)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if parsed.headless:
        from posthouse.tools.scripted import headless

        return headless.run(agent)
    from posthouse.tools.scripted import tui

    return tui.run(agent)


def _agent(parsed: "Arguments") -> "AgentRun":
    from posthouse.tools.scripted import agent, hooks, personas
    from posthouse.tools.scripted.signals import SignalQueue
    from posthouse.tools.scripted.truth import TruthWriter

    environment = dict(os.environ)
    home = Path(environment.get(agent.HOME_VARIABLE) or "~/.scripted").expanduser().resolve()
    truth = TruthWriter(Path(environment.get(agent.TRUTH_VARIABLE) or home / "truth.jsonl"))
    signals = SignalQueue(truth)
    signals.install()
    persona = personas.find(parsed.persona or environment.get(agent.PERSONA_VARIABLE) or "plain")
    settings = hooks.read_settings(home)
    commands = hooks.commands(settings) if persona.has_hooks else {}
    folder = Path.cwd()
    truth.write("start", argv=sys.argv[1:], persona=persona.name, cwd=str(folder), headless=parsed.headless)
    return agent.AgentRun(
        arguments=parsed,
        home=home,
        working_directory=folder,
        environment=environment,
        persona=persona,
        settings=settings,
        truth=truth,
        hooks=hooks.HookRunner(commands, truth),
        signals=signals,
    )


if __name__ == "__main__":
    # Started by path and without site-packages, so the package is not on sys.path.
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    sys.exit(main(sys.argv[1:]))
