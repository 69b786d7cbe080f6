"""The programs that Posthouse uses: installed versions, and how to install the missing ones."""

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
#: How many folders above an executable are searched for its package.json.
_PACKAGE_DEPTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One program that `doctor` checks."""

    name: str
    enables: str
    install_command: str
    needed: bool = False
    minimum: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The check's result for one program."""

    dependency: Dependency
    path: str | None
    version: str | None
    #: Why it can't be used, or None.
    problem: str | None

    @property
    def is_missing(self) -> bool:
        return self.problem is not None


def catalogue(*, is_root: bool) -> tuple[Dependency, ...]:
    """Every program, the required ones first."""
    apt = f"{'' if is_root else 'sudo '}apt-get install -y"
    return (
        Dependency(
            name="python",
            enables="everything",
            install_command=f"{apt} python3",
            needed=True,
            minimum=(3, 11),
        ),
        Dependency(
            name="tmux",
            enables="agents: each lives in a tmux session",
            install_command=f"{apt} tmux",
            needed=True,
            minimum=(3, 2),
        ),
        Dependency(name="git", enables="workspaces of email conversations", install_command=f"{apt} git"),
        Dependency(
            name="node",
            enables="installing the agent CLIs",
            install_command=f"{apt} nodejs npm",
            minimum=(20,),
        ),
        Dependency(name="podman", enables="the sandbox for unattended work", install_command=f"{apt} podman"),
        Dependency(
            name="claude",
            enables="Claude Code agents",
            install_command="npm install -g @anthropic-ai/claude-code",
        ),
        Dependency(name="codex", enables="Codex agents", install_command="npm install -g @openai/codex"),
        Dependency(
            name="gemini", enables="Gemini CLI agents", install_command="npm install -g @google/gemini-cli"
        ),
    )


def inspect(dependency: Dependency, *, search_path: str | None) -> Finding:
    """Look for *dependency* on *search_path*. Agent CLIs are never run: some take a second to start."""
    if dependency.name == "python":
        return _finding(dependency, sys.executable, ".".join(map(str, sys.version_info[:3])))
    path = shutil.which(dependency.name, path=search_path)
    if path is None:
        return Finding(dependency=dependency, path=None, version=None, problem="not installed")
    return _finding(dependency, path, _VERSIONS.get(dependency.name, _package_version)(path))


def _finding(dependency: Dependency, path: str, version: str | None) -> Finding:
    problem = None
    if dependency.minimum and version and _numbers(version) < dependency.minimum:
        problem = f"{version} is too old, {'.'.join(map(str, dependency.minimum))} or newer is needed"
    return Finding(dependency=dependency, path=path, version=version, problem=problem)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _version_flag(flag: str) -> Callable[[str], str | None]:
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


def _package_version(path: str) -> str | None:
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
    "tmux": _version_flag("-V"),
    "git": _version_flag("--version"),
    "node": _version_flag("--version"),
    "podman": _version_flag("--version"),
}
