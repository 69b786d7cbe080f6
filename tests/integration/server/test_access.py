"""Tokens that come and go under a running server."""

import asyncio
import logging
from pathlib import Path

from posthouse.server.access import TokenAuthenticator
from posthouse.server.token_store import TokenStore

LIMIT_SECONDS = 120


def test_a_token_counts_from_the_moment_it_is_there_until_it_is_gone(tmp_path: Path) -> None:
    """No restart is needed, and the server has made the first ones itself."""

    async def scenario() -> None:
        tokens = TokenStore(tmp_path / "tokens")
        access = TokenAuthenticator(tokens, logging.getLogger("test"))
        await access.open()
        try:
            first = {one.scope: _shown(one.path) for one in tokens.tokens()}
            assert {access(header) for header in first.values()} == {"read", "prompt", "admin"}
            header = _shown(tokens.create("phone", "prompt").path)
            await _until(access, header, "prompt")
            tokens.revoke("phone")
            await _until(access, header, None)
            assert access(first["admin"]) == "admin"
        finally:
            await access.close()

    asyncio.run(scenario())


def _shown(path: Path) -> bytes:
    return b"Bearer " + path.read_bytes().strip()


async def _until(access: TokenAuthenticator, header: bytes, scope: str | None) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while access(header) != scope:
            await asyncio.sleep(0.01)
