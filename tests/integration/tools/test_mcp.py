"""`posthouse mcp`: asked by the SDK's own client, and by the real Claude Code."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.mcpserver.exceptions import ToolError

from posthouse.cli.mcp.command import CommandRunner
from posthouse.sessions.session import Session
from posthouse.testing import mail_clis
from posthouse.testing.cli_rig import Place
from posthouse.testing.model_api.script import Step
from posthouse.testing.scripted_agents import House
from posthouse.testing.waiting import LIMIT_SECONDS

TOOLS = {
    "mail_list": True,
    "mail_peek": True,
    "mail_search": True,
    "agents_list": True,
    "agent_state": True,
    "mail_read": False,
    "mail_send": False,
    "mail_reply": False,
    "mail_archive": False,
    "agent_prompt": False,
    "agent_interrupt": False,
}
_COMMAND = str(Path(sys.executable).with_name("posthouse"))


class Tools:
    """A client of the server, as any program that speaks MCP is."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def __call__(self, name: str, /, **arguments: Any) -> Any:
        """What the tool answered; its words when it refused."""
        result = await self.session.call_tool(name, arguments)
        told: Any = result.content[0]
        return told.text if result.is_error else json.loads(told.text)


def _surroundings(house: House) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME")},
        **house.agents.roots.variables(),
        "POSTHOUSE_TMUX_SOCKET": house.agents.server.socket or "",
    }


def test_every_tool_does_its_work_and_says_why_not(house: House) -> None:
    """Mail is sent, found, read, answered and archived, an agent is asked; a mistake is an error in words."""
    session, _ = mail_clis.launch(house, "scripted", "")
    parameters = StdioServerParameters(
        command=_COMMAND, args=["mcp", "--agent", "ann"], env=_surroundings(house)
    )

    async def use() -> None:
        async with (
            stdio_client(parameters) as (reading, writing),
            ClientSession(reading, writing) as asked,
        ):
            await asked.initialize()
            await _look(asked)
            await _write_and_read(Tools(asked))
            await _ask(Tools(asked), session)
            await _mistake(Tools(asked))

    asyncio.run(use())


async def _look(asked: ClientSession) -> None:
    listed = (await asked.list_tools()).tools
    hints = {tool.name: tool.annotations and tool.annotations.read_only_hint for tool in listed}

    assert hints == TOOLS
    assert all(tool.description for tool in listed)


async def _write_and_read(tools: Tools) -> None:
    body = "-- a line that looks like an option\n" + "long " * 8000
    sent = await tools("mail_send", to=[mail_clis.ADDRESS], subject="--plans", body=body)
    ref = sent["message"]["message_ref"]
    listed = await tools("mail_list", read_state="unread")
    found = await tools("mail_search", query="--looks option")
    peeked = await tools("mail_peek", message_ref=ref, agent="ann")
    read = await tools("mail_read", message_ref=ref)
    answer = await tools("mail_reply", message_ref=ref, body="Rest.")
    archived = await tools("mail_archive", message_refs=[ref])

    assert [one["message_ref"] for one in listed["messages"]] == [ref]
    assert [one["message_ref"] for one in found["messages"]] == [ref]
    assert (peeked["message"]["read"], read["message"]["read"]) == (False, True)
    assert read["message"]["body_text"] == f"{body[:20_000]}… (cut; {len(body)} characters in all)"
    assert answer["message"]["subject"] == "Re: --plans"
    assert [(one["box"], one["answered"]) for one in archived["messages"]] == [("archive", True)]


async def _ask(tools: Tools, session: Session) -> None:
    (agent,) = (await tools("agents_list"))["agents"]
    answered = await tools("agent_prompt", agent="ann", prompt="hello [[say hi there]]")
    handed_in = await tools("agent_prompt", agent="ann", prompt="[[wait 600]]", wait=False)
    in_vain = await tools("agent_prompt", agent="ann", prompt="[[say later]]", timeout_seconds=0.5)
    state = await tools("agent_state", agent="ann")

    assert (agent["agent_id"], agent["agent_name"]) == (session.agent_id, "ann")
    assert (answered["outcome"], answered["answer"]) == ("success", "hi there")
    assert handed_in["disposition"] == "accepted"
    assert (in_vain["outcome"], in_vain["answer"]) == ("timed_out", None)
    assert state["tracked_agent_id"] == session.agent_id
    async with asyncio.timeout(LIMIT_SECONDS):
        # Nothing is interrupted before the turn has begun.
        while (await tools("agent_interrupt", agent="ann"))["disposition"] != "accepted":
            pass


async def _mistake(tools: Tools) -> None:
    refusals = [
        await tools("mail_read", message_ref="filesystem:nothing"),
        await tools("agent_state", agent="nobody"),
        await tools("agent_state", agent="--all"),
        await tools("mail_list", limit=0),
    ]

    assert all(isinstance(told, str) for told in refusals), refusals
    assert "nobody" in refusals[1]


def test_a_command_that_takes_too_long_is_ended(
    tmp_path: Path, new_children: Callable[[], list[int]]
) -> None:
    """The caller is told, without the values that it gave, and no process is left."""
    commands = CommandRunner(environment=os.environ, working_directory=tmp_path)
    with pytest.raises(ToolError) as told:
        asyncio.run(commands.run("agents", "list", "--state=all", seconds=0.001))

    assert str(told.value) == "`posthouse agents list` did not finish within 0.001 s"
    assert new_children() == []


def test_claude_code_uses_its_own_mailbox_by_a_tool(house: House, place: Place) -> None:
    """The CLI offers the tools to its model, which needs to name no agent: the letter is in its mailbox."""
    config = place.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"posthouse": {"command": _COMMAND, "args": ["mcp"]}}}))
    args = (f"--mcp-config={config}",)
    session, _ = mail_clis.launch(house, "claude", place.api.base_url, args=args)
    letter: Mapping[str, Any] = {"to": [mail_clis.ADDRESS], "subject": "by MCP", "body": "hello"}
    # Its first call may come before the server is up; this tool of its own is there for that.
    place.api.queue(Step(tool="WaitForMcpServers", arguments={}))
    place.api.queue(Step(tool="mcp__posthouse__mail_send", arguments=letter))
    place.api.queue(Step(text="sent"))

    client = house.client(session)
    asked = client.submit_prompt("Write to yourself.")["request_id"]
    house.until(lambda: client.receipt(asked)["state"] not in ("accepted", "running"))

    offered = place.api.main_records()[-1].tools
    assert {f"mcp__posthouse__{name}" for name in TOOLS} <= set(offered)
    inbox = client.mail("list", {"include_body": True})["messages"]
    assert [(one["subject"], one["body_text"]) for one in inbox] == [("by MCP", "hello")]


def test_without_the_extra_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    """A plain installation names the extra and ends; it does not fail with an import."""
    # A finder that finds no `mcp`, as in an environment without it.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'mcp': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
    )
    done = subprocess.run(
        [_COMMAND, "mcp"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'posthouse[mcp]'" in done.stderr
