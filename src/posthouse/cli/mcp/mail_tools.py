"""The mail tools. Their docstrings are the descriptions that models read."""

from typing import Annotated, Any, Literal

from pydantic import Field

from posthouse.cli.mcp.command import CommandRunner

#: A name or an id; never an option.
AgentName = Annotated[str, Field(pattern=r"^[^\s-]\S*$", max_length=200)]
_Agent = Annotated[
    AgentName | None, Field(description="whose mailbox, by name or id; your own when left out")
]
_Ref = Annotated[str, Field(min_length=1, max_length=500, description="message_ref, copied from a listing")]
_Refs = Annotated[list[_Ref], Field(min_length=1, max_length=100)]
_Address = Annotated[str, Field(min_length=3, max_length=500, description="a full address: name@domain")]
_Recipients = Annotated[list[_Address], Field(min_length=1, max_length=100)]
_Copies = Annotated[list[_Address], Field(max_length=100)]
_Limit = Annotated[int, Field(ge=1, le=100)]
_Body = Annotated[str, Field(max_length=500_000, description="the text, as Markdown")]
_Files = Annotated[list[str], Field(max_length=20, description="absolute paths of files to attach")]


class MailTools:
    """Tools for one agent's mail."""

    def __init__(self, commands: CommandRunner) -> None:
        self._commands = commands

    async def mail_list(
        self,
        box: str = "inbox",
        read_state: Literal["any", "read", "unread"] = "any",
        limit: _Limit = 20,
        agent: _Agent = None,
    ) -> dict[str, Any]:
        """List messages of a mailbox, newest first, with a preview of each."""
        options = (f"--box={box}", f"--read-state={read_state}", f"--limit={limit}")
        return await self._run("list", agent, *options)

    async def mail_peek(self, message_ref: _Ref, agent: _Agent = None) -> dict[str, Any]:
        """Show one whole message and leave it unread."""
        return await self._run("peek", agent, f"--message-ref={message_ref}")

    async def mail_read(self, message_ref: _Ref, agent: _Agent = None) -> dict[str, Any]:
        """Show one whole message, which counts as read from now on."""
        return await self._run("read", agent, f"--message-ref={message_ref}")

    async def mail_send(
        self,
        to: _Recipients,
        subject: Annotated[str, Field(min_length=1, max_length=2000)],
        body: _Body,
        cc: _Copies = [],  # noqa: B006 - read only, and a schema shows it
        attachments: _Files = [],  # noqa: B006 - as above
        agent: _Agent = None,
    ) -> dict[str, Any]:
        """Send a message. The answer means that every recipient has it."""
        people = (*(f"--to={one}" for one in to), *(f"--cc={one}" for one in cc))
        enclosed = tuple(f"--attach={path}" for path in attachments)
        words = (*people, f"--subject={subject}", *enclosed, "--body-file=-")
        return await self._run("send", agent, *words, stdin=body)

    async def mail_reply(
        self,
        message_ref: _Ref,
        body: _Body,
        attachments: _Files = [],  # noqa: B006 - read only, and a schema shows it
        agent: _Agent = None,
    ) -> dict[str, Any]:
        """Answer a message in its thread; it counts as read and answered from now on."""
        enclosed = tuple(f"--attach={path}" for path in attachments)
        words = (f"--message-ref={message_ref}", *enclosed, "--body-file=-")
        return await self._run("reply", agent, *words, stdin=body)

    async def mail_archive(self, message_refs: _Refs, agent: _Agent = None) -> dict[str, Any]:
        """Put messages that are finished into the archive."""
        return await self._run("archive", agent, *(f"--message-ref={ref}" for ref in message_refs))

    async def mail_search(
        self,
        query: Annotated[str, Field(min_length=1, max_length=1000)],
        box: str | None = None,
        limit: _Limit = 20,
        agent: _Agent = None,
    ) -> dict[str, Any]:
        """Find messages that hold all the words of a query."""
        where = () if box is None else (f"--box={box}",)
        return await self._run("search", agent, *where, f"--limit={limit}", "--", query)

    async def _run(self, verb: str, agent: str | None, *words: str, stdin: str = "") -> dict[str, Any]:
        return await self._commands.run(*self._commands.words_for(agent, "mail", verb), *words, stdin=stdin)
