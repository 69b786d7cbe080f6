"""The programs Posthouse works with: which are here, at which version, and how to get the others."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_ASK_SECONDS = 5.0
_VERSION = re.compile(r"\d+(?:\.\d+)+[a-z]?")
#: How far above an executable its package.json is looked for.
_PACKAGE_DEPTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One program, as `doctor` knows it before looking."""

    name: str
    enables: str
    get: str
    needed: bool = False
    minimum: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found of a piece."""

    piece: Piece
    path: str | None
    version: str | None
    #: Why it can't be used, or None.
    problem: str | None

    @property
    def is_missing(self) -> bool:
        return self.problem is not None


def catalogue(*, is_root: bool) -> tuple[Piece, ...]:
    """Every piece, the needed ones first."""
    apt = f"{'' if is_root else 'sudo '}apt-get install -y"
    return (
        Piece(name="python", enables="everything", get=f"{apt} python3", needed=True, minimum=(3, 11)),
        Piece(
            name="tmux",
            enables="agents: each lives in a tmux session",
            get=f"{apt} tmux",
            needed=True,
            minimum=(3, 2),
        ),
        Piece(name="git", enables="workspaces of email conversations", get=f"{apt} git"),
        Piece(name="node", enables="installing the agent CLIs", get=f"{apt} nodejs npm", minimum=(20,)),
        Piece(name="podman", enables="the sandbox for unattended work", get=f"{apt} podman"),
        Piece(name="claude", enables="Claude Code agents", get="npm install -g @anthropic-ai/claude-code"),
        Piece(name="codex", enables="Codex agents", get="npm install -g @openai/codex"),
        Piece(name="gemini", enables="Gemini CLI agents", get="npm install -g @google/gemini-cli"),
    )


def look(piece: Piece, *, search_path: str | None) -> Finding:
    """Look for *piece* on *search_path*. An agent CLI is never run: some take a second to answer."""
    if piece.name == "python":
        return _judged(piece, sys.executable, ".".join(map(str, sys.version_info[:3])))
    path = shutil.which(piece.name, path=search_path)
    if path is None:
        return Finding(piece=piece, path=None, version=None, problem="not installed")
    return _judged(piece, path, _VERSIONS.get(piece.name, _packaged)(path))


def _judged(piece: Piece, path: str, version: str | None) -> Finding:
    problem = None
    if piece.minimum and version and _numbers(version) < piece.minimum:
        problem = f"{version} is too old, {'.'.join(map(str, piece.minimum))} or newer is needed"
    return Finding(piece=piece, path=path, version=version, problem=problem)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _asking(flag: str) -> Callable[[str], str | None]:
    def ask(path: str) -> str | None:
        try:
            answer = subprocess.run(
                [path, flag], capture_output=True, text=True, timeout=_ASK_SECONDS, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = _VERSION.search(answer.stdout)
        return found.group() if found else None

    return ask


def _packaged(path: str) -> str | None:
    """The version in the package.json above an executable, or in its own name."""
    real = Path(path).resolve()
    for folder in list(real.parents)[:_PACKAGE_DEPTH]:
        try:
            version = json.loads((folder / "package.json").read_bytes())["version"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        return str(version)
    return real.name if _VERSION.fullmatch(real.name) else None


_VERSIONS: dict[str, Callable[[str], str | None]] = {
    "tmux": _asking("-V"),
    "git": _asking("--version"),
    "node": _asking("--version"),
    "podman": _asking("--version"),
}
