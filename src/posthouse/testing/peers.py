"""Somebody who listens and answers as a test wants, well or badly; nothing is left open behind it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def answering(answer: Callable[[bytes], bytes], *, stays: bool = False) -> AsyncIterator[int]:
    """The port of one who reads a request's head, answers it, and hangs up; with *stays* the caller must."""
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            writer.write(answer(await reader.readuntil(b"\r\n\r\n")))
            await writer.drain()
            if stays:
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the caller was quicker, and is free to go
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            serving.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        left = [*serving]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
