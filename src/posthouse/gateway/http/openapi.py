"""The OpenAPI document of the gateway.

`python -m posthouse.gateway.http.openapi` writes it to standard output.
"""

import sys
from typing import Any

from posthouse.gateway.http.routes import ROUTES
from posthouse.web import openapi

_TITLE = "Posthouse gateway"


def document() -> dict[str, Any]:
    return openapi.document(_TITLE, ROUTES)


def render() -> str:
    """The text of the committed document."""
    return openapi.render(_TITLE, ROUTES)


if __name__ == "__main__":
    sys.stdout.write(render())
