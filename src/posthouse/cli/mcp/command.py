"""Runs one command in its own process, with a timeout and a limit on its output."""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from posthouse.support import untrusted_files

#: More would not fit into a model's context.
MAX_ANSWER_BYTES = 200_000
_MAX_TEXT_CHARS = 20_000
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRunner:
    """Runs commands with the environment and folder that the server was started in."""

    environment: Mapping[str, str]
    working_directory: Path
    #: The default agent of tools; None: the agent of the current tmux session.
    agent: str | None = None

    def words_for(self, agent: str | None, *verb: str) -> tuple[str, ...]:
        """The command line of *verb* for that agent, or for the default agent."""
        chosen = agent or self.agent
        return ("agents", "self", *verb) if chosen is None else ("agents", *verb, chosen)

    async def run(self, *words: str, stdin: str = "", seconds: float = _SECONDS) -> dict[str, Any]:
        """The command's result, with long texts cut.

        Raises:
            ToolError: The command failed, timed out, or its result is too large.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "posthouse.cli", "--json", *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(self.environment),
            cwd=self.working_directory,
        )
        try:
            async with asyncio.timeout(seconds):
                stdout, stderr = await process.communicate(stdin.encode())
        except TimeoutError:
            raise ToolError(f"`{_command_name(words)}` did not finish within {seconds:g} s") from None
        finally:
            await _kill(process)
        return _result(words, stdout, stderr)


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the process if it still runs, also after a cancellation."""
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it has just ended
            process.kill()
        await process.wait()


def _result(words: Sequence[str], stdout: bytes, stderr: bytes) -> dict[str, Any]:
    """The result, also of a command that failed with one, such as an unanswered prompt."""
    found = _decode_object(stdout)
    if found is None:
        raise ToolError(_reason(stderr) or f"`{_command_name(words)}` returned no result")
    cut: dict[str, Any] = _cut(found)
    size = len(json.dumps(cut))
    if size > MAX_ANSWER_BYTES:
        raise ToolError(
            f"the result has {size} bytes; the limit is {MAX_ANSWER_BYTES}: "
            "request less, for example with a lower limit"
        )
    return cut


def _cut(value: Any) -> Any:
    """*value* with long texts cut and marked."""
    if isinstance(value, str) and len(value) > _MAX_TEXT_CHARS:
        return f"{value[:_MAX_TEXT_CHARS]}… (cut; {len(value)} characters in all)"
    if isinstance(value, list):
        return [_cut(each) for each in value]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return value


def _reason(stderr: bytes) -> str:
    """The error message of a failed command, without preceding warnings."""
    text = stderr.decode(errors="replace")
    error = (_decode_object(text[max(text.find("{"), 0) :].encode()) or {}).get("error")
    if isinstance(error, dict):
        return f"{error.get('message')} ({error.get('code')})"
    return text.strip()[-_MAX_TEXT_CHARS:]


def _decode_object(content: bytes) -> dict[str, Any] | None:
    try:
        found = untrusted_files.decode_json(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _command_name(words: Sequence[str]) -> str:
    """The command without its values, which may be long or private."""
    return " ".join(("posthouse", *(word for word in words[:3] if not word.startswith("-"))))
