"""What a tmux server tells its clients of the commands that it was given."""

import asyncio

from posthouse.terminal.client import Server, Tmux
from posthouse.terminal.control import ControlClient

_WITNESS = "witness"


def keep(server: Server) -> None:
    """Make the server outlive its agents, and remember every command from now on."""
    tmux = Tmux(server)
    tmux.run("new-session", "-d", "-s", _WITNESS, "sleep", "infinity")
    tmux.run("set-option", "-s", "message-limit", "1000000")


def read(server: Server, session: str = _WITNESS) -> str:
    """The messages, the buffers, and the environments of the server and all its sessions."""
    return asyncio.run(_read(server, session))


async def _read(server: Server, session: str) -> str:
    # Only a client that is attached is shown the messages.
    client = await ControlClient.attach(server, session, output=False)
    try:
        names = (await client.command("list-sessions", "-F", "#{session_name}")).splitlines()
        environments = [("show-environment", "-t", f"={name}:") for name in names]
        commands = [("show-messages",), ("list-buffers",), ("show-environment", "-g"), *environments]
        return "\n".join([await client.command(*words) for words in commands])
    finally:
        await client.close()
