"""Prompts in random shapes into each TUI, every claim held against what really arrived.

    python bench/delivery.py [--tool claude --tool codex …] [--persona plain …] [--count 200] [--seed 1]

Exits 1 when a prompt was lost, came twice, or was claimed to be what it was not. The real CLIs are those that
`./test --set-up` installs; they talk to the scripted model API.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from posthouse.terminal.client import NoServer, Server, Tmux
from posthouse.testing import clis, leftovers
from posthouse.testing.delivery import judging, rig, subjects
from posthouse.testing.delivery.rig import Subject
from posthouse.testing.delivery.trials import Trial, trials
from posthouse.testing.model_api import running


def main() -> int:
    """Run every subject; 1 when a claim was false."""
    parser = argparse.ArgumentParser(description="prompts in random shapes, claims against facts")
    parser.add_argument("--tool", action="append", default=[], choices=list(clis.PACKAGES))
    parser.add_argument("--persona", action="append", default=[], choices=subjects.PERSONAS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chosen = arguments.tool or ([] if arguments.persona else list(clis.PACKAGES))
    if chosen:
        os.environ["PATH"] = clis.search_path(clis.folder(os.environ), os.environ["PATH"])
    drawn = list(trials(arguments.seed, arguments.count))
    false_claims = sum(_real(name, drawn) for name in chosen)
    false_claims += sum(_scripted(persona, drawn) for persona in arguments.persona)
    return 1 if false_claims else 0


def _real(name: str, drawn: list[Trial]) -> int:
    with running() as api, _folder() as folder:
        return _measure(name, subjects.real(name, api, folder), folder, drawn)


def _scripted(persona: str, drawn: list[Trial]) -> int:
    with _folder() as folder:
        return _measure(persona, subjects.scripted(persona, folder), folder, drawn)


def _measure(name: str, subject: Subject, folder: Path, drawn: list[Trial]) -> int:
    """Type everything, judge it, print it; how many claims were false."""
    server = Server(str(folder / "tmux"))
    with rig.launched(subject, folder, server) as made:
        attempts = rig.run(subject, made, drawn, lambda line: print(f"  {name}: {line}", flush=True))
        verdicts = judging.judge(attempts, subject.received(made))
    wrong = [verdict for verdict in verdicts if verdict.problem]
    for verdict in wrong:
        trial = verdict.attempt.trial
        print(f"{name}: {verdict.problem}: {trial.condition}, {trial.shape}, {verdict.attempt.reason}")
    print(f"{name}: {judging.summary(verdicts)}", flush=True)
    return len(wrong)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder with a short name, where codex's sandbox works."""
    folder = Path(tempfile.mkdtemp(prefix="ph-", dir=leftovers.homes()))
    try:
        yield folder
    finally:
        with suppress(NoServer):
            Tmux(Server(str(folder / "tmux"))).run("kill-server")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(leftovers.watched(main))
