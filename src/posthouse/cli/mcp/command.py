"""One command of ours as a tool runs it: in its own process, with bounded time and a bounded answer."""

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
class Commands:
    """Runs commands in the surroundings that the server was started in."""

    environment: Mapping[str, str]
    working_directory: Path
    #: Whom a tool is about when its caller names nobody; None: the agent of the current tmux session.
    agent: str | None = None

    def about(self, agent: str | None, *verb: str) -> tuple[str, ...]:
        """The words of *verb* for that agent, else for the server's own."""
        chosen = agent or self.agent
        return ("agents", "self", *verb) if chosen is None else ("agents", *verb, chosen)

    async def run(self, *words: str, stdin: str = "", seconds: float = _SECONDS) -> dict[str, Any]:
        """The command's result, long texts cut.

        Raises:
            ToolError: It said no, took too long, or answered more than a model can read.
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
                answer, complaint = await process.communicate(stdin.encode())
        except TimeoutError:
            raise ToolError(f"`{_spoken(words)}` was not done within {seconds:g} s") from None
        finally:
            await _end(process)
        return _result(words, answer, complaint)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Leave nothing running, also when the caller lost interest."""
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it was just done
            process.kill()
        await process.wait()


def _result(words: Sequence[str], answer: bytes, complaint: bytes) -> dict[str, Any]:
    """A command that failed and has a result (a prompt that was not answered) says so in the result."""
    found = _object(answer)
    if found is None:
        raise ToolError(_reason(complaint) or f"`{_spoken(words)}` gave no answer")
    cut: dict[str, Any] = _cut(found)
    size = len(json.dumps(cut))
    if size > MAX_ANSWER_BYTES:
        raise ToolError(
            f"the answer has {size} bytes, more than the {MAX_ANSWER_BYTES} that a tool may return: "
            "ask for less, for example with a lower limit"
        )
    return cut


def _cut(value: Any) -> Any:
    """*value* with long texts shortened, and said so."""
    if isinstance(value, str) and len(value) > _MAX_TEXT_CHARS:
        return f"{value[:_MAX_TEXT_CHARS]}… (cut; {len(value)} characters in all)"
    if isinstance(value, list):
        return [_cut(each) for each in value]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return value


def _reason(complaint: bytes) -> str:
    """What a command that could not do its work wrote, warnings before it left out."""
    text = complaint.decode(errors="replace")
    error = (_object(text[max(text.find("{"), 0) :].encode()) or {}).get("error")
    if isinstance(error, dict):
        return f"{error.get('message')} ({error.get('code')})"
    return text.strip()[-_MAX_TEXT_CHARS:]


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        found = untrusted_files.decode_json(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _spoken(words: Sequence[str]) -> str:
    """The command without its values, which may be long or private."""
    return " ".join(("posthouse", *(word for word in words[:3] if not word.startswith("-"))))
