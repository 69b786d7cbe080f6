"""The base error and its five families, grouped by what the caller does next.

Leaf classes live beside the contract they belong to. HTTP statuses and exit codes are two tables at
the two edges.
"""

from collections.abc import Mapping
from types import MappingProxyType


class PosthouseError(Exception):
    """Base of all expected errors. The message is for the person who made the request."""

    #: A stable word for programs.
    code = "error"
    #: Further fields of the error response, by name.
    facts: Mapping[str, object] = MappingProxyType({})

    def __init__(self, *arguments: object, code: str | None = None) -> None:
        """*code* replaces the class's code, for errors that no caller catches by class."""
        super().__init__(*arguments)
        if code is not None:
            self.code = code


class InvalidInput(PosthouseError):
    """The caller must change the request."""

    code = "invalid_input"


class NotFound(PosthouseError):
    """The named thing does not exist."""

    code = "not_found"


class Conflict(PosthouseError):
    """It exists, but not in a state that allows this."""

    code = "conflict"


class Denied(PosthouseError):
    """Policy said no; retrying will not help."""

    code = "denied"


class Unavailable(PosthouseError):
    """A dependency failed; retrying may help."""

    code = "unavailable"
