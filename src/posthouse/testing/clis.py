"""The real agent CLIs that `./test` keeps in a cache, and how they are turned to the scripted model API.

Set-up (`scripts/agent_clis.sh`) installs the versions of `scripts/agent-clis` there and names the folder in
POSTHOUSE_AGENT_CLIS. Tests find it here; nothing is installed from here.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import posthouse

FOLDER_VARIABLE: Final = "POSTHOUSE_AGENT_CLIS"

#: The npm package of each CLI.
PACKAGES: Final = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
}

#: Any key does: the scripted model API asks for none.
API_KEY: Final = "scripted-key-of-no-account"
#: The variable that codex takes its key from, by `codex_config`.
CODEX_KEY_VARIABLE: Final = "SCRIPTED_API_KEY"

#: Sends whatever is not meant for this machine to a proxy that is not there.
NO_NETWORK: Final = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
}

_MANIFEST = Path(posthouse.__file__).parents[2] / "scripts" / "agent-clis"
#: What the name of the cache folder is made of, in this order.
_PINNED_BY = ("package-lock.json", "node.lock")


class ClisMissing(AssertionError):
    """The CLIs are not installed; the message says how they get there."""


def folder(environment: Mapping[str, str]) -> Path:
    """Where the CLIs are: the folder named in *environment*, else the cache that `./test` fills.

    Raises:
        ClisMissing: There is no such folder, or a CLI is missing in it.
    """
    found = Path(environment.get(FOLDER_VARIABLE) or _cache(environment))
    missing = [name for name in PACKAGES if not (found / "node_modules" / ".bin" / name).exists()]
    if missing:
        raise ClisMissing(
            f"no {', '.join(missing)} in {found}: run `./test --set-up`, which installs the agent CLIs once, "
            f"or name their folder in {FOLDER_VARIABLE}"
        )
    return found


def _cache(environment: Mapping[str, str]) -> Path:
    """The folder that set-up uses for the versions pinned in this clone."""
    pinned = b"".join((_MANIFEST / name).read_bytes() for name in _PINNED_BY)
    caches = environment.get("XDG_CACHE_HOME") or f"{environment.get('HOME') or '/nowhere'}/.cache"
    cache = environment.get("POSTHOUSE_CACHE") or f"{caches}/posthouse"
    return Path(cache) / f"agent-clis-{hashlib.sha256(pinned).hexdigest()[:12]}"


def search_path(folder: Path, inherited: str) -> str:
    """A PATH on which the CLIs come first, and the Node that runs them."""
    ours = [folder / "node_modules" / ".bin", folder / "node" / "bin"]
    return ":".join([*(str(part) for part in ours if part.is_dir()), inherited])


def versions(folder: Path) -> dict[str, str]:
    """The installed version of each CLI, from its manifest: gemini takes seconds to say its own."""
    return {name: _version(folder / "node_modules" / package) for name, package in PACKAGES.items()}


def _version(package: Path) -> str:
    version: str = json.loads((package / "package.json").read_bytes())["version"]
    return version


def offline_variables(tool: str, base_url: str) -> dict[str, str]:
    """What makes a CLI talk to the model API at *base_url*, and keeps it from seeking its maker's.

    Codex has no variable for the address: it needs `codex_config` besides.
    """
    return {
        "claude": {
            "ANTHROPIC_BASE_URL": base_url,
            "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        "codex": {CODEX_KEY_VARIABLE: API_KEY},
        "gemini": {
            "GOOGLE_GEMINI_BASE_URL": base_url,
            "GEMINI_API_KEY": API_KEY,
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "COLORTERM": "truecolor",
        },
    }[tool]


def codex_config(base_url: str) -> str:
    """The beginning of a `config.toml` with which codex talks to the model API at *base_url*."""
    return (
        'model_provider = "scripted"\n\n'
        "[model_providers.scripted]\n"
        'name = "scripted"\n'
        f'base_url = "{base_url}/v1"\n'
        'wire_api = "responses"\n'
        f'env_key = "{CODEX_KEY_VARIABLE}"\n'
    )
