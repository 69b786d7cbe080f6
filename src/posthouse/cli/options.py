"""Parses options: output style, agent selectors, and the words after `--`."""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from posthouse.cli.error_output import UsageError
from posthouse.cli.output import Style

_STYLE_FLAGS: dict[str, Style] = {
    "--json": "json",
    "--print-json": "json",
    "--print-plain": "plain",
    "--print-fancy": "fancy",
}
_SELECTORS = {"--agent-name": "name", "--agent-id": "id"}
#: Marks a word from after `--` during parsing. No process argument can contain a NUL.
_VERBATIM = "\0"
#: One century; the system clock's range is about three.
_LONGEST_SECONDS = 100 * 365 * 86400.0


class Selection(NamedTuple):
    """How the command line names the agent."""

    kind: str  # "name", "id", "any" (a name or an id) or "self"
    value: str = ""


def take_style(words: Sequence[str]) -> tuple[Style | None, list[str]]:
    """The last style flag before `--`, and the other words."""
    style: Style | None = None
    head, tail = _split(words)
    rest = []
    for word in head:
        if word in _STYLE_FLAGS:
            style = _STYLE_FLAGS[word]
        else:
            rest.append(word)
    return style, rest + tail


def take_selection(words: Sequence[str]) -> tuple[Selection | None, list[str]]:
    """The `--agent-name` or `--agent-id` before `--`, and the other words.

    Raises:
        UsageError: There is more than one, or its value is missing.
    """
    head, tail = _split(words)
    found: list[Selection] = []
    rest = []
    waiting = iter(head)
    for word in waiting:
        flag, equals, value = word.partition("=")
        if flag not in _SELECTORS:
            rest.append(word)
            continue
        value = value if equals else next(waiting, "")
        if not value or value.startswith("-"):
            raise UsageError(f"{flag} needs a value")
        found.append(Selection(_SELECTORS[flag], value))
    if len(found) > 1:
        raise UsageError("give exactly one of --agent-name and --agent-id, once")
    return (found[0] if found else None), rest + tail


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises instead of exiting and allows options among positionals."""

    @property
    def declared(self) -> Sequence[argparse.Action]:
        """Every option and positional, for completion."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, usage=self.format_usage())

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse *words*; words after `--` are always positional.

        Raises:
            UsageError: The words don't match the parser.
        """
        head, tail = _split(words)
        verbatim = tail[1:]
        marked = [f"{_VERBATIM}{index}" for index in range(len(verbatim))]
        parsed = self.parse_intermixed_args([*head, *marked])
        return argparse.Namespace(**{key: _restore(value, verbatim) for key, value in vars(parsed).items()})


def _restore(value: Any, verbatim: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_restore(item, verbatim) for item in value]
    if isinstance(value, str) and value.startswith(_VERBATIM):
        return verbatim[int(value[1:])]
    return value


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    listed = list(words)
    cut = listed.index("--") if "--" in listed else len(listed)
    return listed[:cut], listed[cut:]


def server_argument(parser: Parser, option: str) -> None:
    """Add the option that directs a command to the coordination server."""
    parser.add_argument(
        option,
        type=port,
        dest="pair_port",
        metavar="N",
        help="use the coordination server on this port instead of this machine's files",
    )


def port(text: str) -> int:
    """The argparse type of a TCP port, 1 to 65535."""
    number = int(text)
    if not 0 < number < 1 << 16:
        raise argparse.ArgumentTypeError(f"invalid port {text}: must be 1 to 65535")
    return number


def non_negative(text: str) -> int:
    """The argparse type of a count from 0."""
    number = int(text)
    if number < 0:
        raise ValueError(f"{text} is below 0")
    return number


def seconds(text: str) -> float:
    """The argparse type of a timeout in seconds."""
    number = float(text)
    if not 0 < number <= _LONGEST_SECONDS:  # NaN is neither
        raise argparse.ArgumentTypeError(f"invalid timeout {text}: must be positive seconds")
    return number
