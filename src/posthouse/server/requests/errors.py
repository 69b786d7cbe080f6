"""How requests are refused."""

from posthouse.errors import InvalidInput


class Refused(InvalidInput):
    """Nobody takes such a request for this agent; nothing was given to it."""

    code = "request_refused"


class ExecutionOnTui(InvalidInput):
    """A TUI chooses its model itself."""

    code = "execution_on_tui"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"execution is for headless agents, and {name!r} is a TUI: leave it out, "
            "and choose the model in the TUI or at its launch"
        )
