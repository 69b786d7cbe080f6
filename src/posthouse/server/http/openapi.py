"""The OpenAPI document of the coordination server.

`python -m posthouse.server.http.openapi` writes it to standard output.
"""

import sys
from typing import Any

from posthouse.server.http.routes import ROUTES
from posthouse.web import openapi

_TITLE = "Posthouse coordination server"


def document() -> dict[str, Any]:
    return openapi.document(_TITLE, ROUTES, is_scoped=True)


def render() -> str:
    """The document as committed in `docs/openapi`."""
    return openapi.render(_TITLE, ROUTES, is_scoped=True)


if __name__ == "__main__":
    sys.stdout.write(render())
