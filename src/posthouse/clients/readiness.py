"""Fetches `GET /ready` of a gateway or a coordination server; a 503 has a readiness body too."""

import http.client
from typing import Any

from posthouse.support import untrusted_files

#: A process that takes longer hangs: it answers from memory after writing one small file.
READY_SECONDS = 8.0
_MAX_ANSWER_BYTES = 1 << 20
_ANSWERS = (200, 503)


def fetch(host: str, port: int) -> dict[str, Any]:
    """The readiness. A process that does not answer is not ready, with that as the reason."""
    # 0.0.0.0 is a bind address, not a destination.
    connection = http.client.HTTPConnection(
        "127.0.0.1" if host == "0.0.0.0" else host, port, timeout=READY_SECONDS
    )
    try:
        connection.request("GET", "/ready")
        response = connection.getresponse()
        readiness = untrusted_files.decode_json(response.read(_MAX_ANSWER_BYTES))
    except (OSError, ValueError, http.client.HTTPException) as error:
        return _not_ready(f"port {port} does not answer: {error or type(error).__name__}")
    finally:
        connection.close()
    if response.status not in _ANSWERS or not isinstance(readiness, dict):
        return _not_ready(f"port {port} answers {response.status}")
    return readiness


def _not_ready(reason: str) -> dict[str, Any]:
    return {"ready": False, "reason": reason}
