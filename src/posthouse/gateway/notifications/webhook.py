"""Posts a notice to a URL: one request, no redirects, bounded in time and in response size."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from posthouse import __version__
from posthouse.gateway.notifications.delivery_status import DeliveryOutcome, delivered, refused
from posthouse.gateway.notifications.message import Notice, signature

#: Bytes of the response head that are read; the body is not read.
_MAX_HEAD_BYTES = 8 << 10


async def post(url: str, key: bytes, notice: Notice, *, within_seconds: float) -> DeliveryOutcome:
    """Send *notice*; a 2xx response counts as delivered."""
    try:
        async with asyncio.timeout(within_seconds):
            status = await _exchange(url, notice.body, signature(key, notice, int(time.time())))
    except TimeoutError:
        return refused(f"no answer within {within_seconds:g} s")
    except ssl.SSLError as error:
        return refused(f"no trusted connection: {error.reason or error}")
    except (OSError, ValueError) as error:
        return refused(f"not reached: {error or type(error).__name__}")
    return delivered(f"answered {status}") if 200 <= status < 300 else refused(f"answered {status}")


async def _exchange(url: str, body: bytes, proof: Mapping[str, str]) -> int:
    """The status of the response.

    Raises:
        OSError: The connection failed, or its certificate is not trusted.
        ValueError: The response is not HTTP.
    """
    parts = urlsplit(url)
    assert parts.hostname is not None
    is_tls = parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    context = ssl.create_default_context() if is_tls else None
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context, limit=_MAX_HEAD_BYTES)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        writer.write(_head(target, parts.netloc, len(body), proof) + body)
        await writer.drain()
        return _status(await reader.readline())
    finally:
        # Abort instead of a clean close: only the status is needed.
        with contextlib.suppress(OSError):
            writer.transport.abort()


def _head(target: str, host: str, length: int, proof: Mapping[str, str]) -> bytes:
    headers = {
        "Host": host,
        "User-Agent": f"posthouse/{__version__}",
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "Connection": "close",
        **proof,
    }
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _status(line: bytes) -> int:
    version, _, rest = line.partition(b" ")
    code = rest[:3]
    if not version.startswith(b"HTTP/1.") or not code.isdigit():
        raise ValueError("the response is not HTTP")
    return int(code)
