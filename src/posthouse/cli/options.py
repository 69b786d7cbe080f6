"""What stands in a command line beside the command: output style, selectors, and the words after `--`."""

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
#: Marks a word from behind `--` while argparse looks. No argument of a process can hold a NUL.
_VERBATIM = "\0"
#: A century; the clock of the system counts to three of them.
_LONGEST_SECONDS = 100 * 365 * 86400.0


class Selection(NamedTuple):
    """How a person named the agent."""

    kind: str  # "name", "id", "any" (a name or an id) or "self"
    value: str = ""


def take_style(words: Sequence[str]) -> tuple[Style | None, list[str]]:
    """The style flag that stands anywhere before `--` (the last wins), and the other words."""
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
        UsageError: There is more than one, or one without a value.
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
    """argparse that raises instead of exiting, and takes options anywhere among positionals."""

    @property
    def declared(self) -> Sequence[argparse.Action]:
        """Every option and positional, for completion."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, usage=self.format_usage())

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse *words*; what stands behind `--` is positional, whatever it looks like.

        Raises:
            UsageError: They don't fit.
        """
        head, tail = _split(words)
        verbatim = tail[1:]
        marked = [f"{_VERBATIM}{index}" for index in range(len(verbatim))]
        parsed = self.parse_intermixed_args([*head, *marked])
        return argparse.Namespace(**{key: _restored(value, verbatim) for key, value in vars(parsed).items()})


def _restored(value: Any, verbatim: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_restored(item, verbatim) for item in value]
    if isinstance(value, str) and value.startswith(_VERBATIM):
        return verbatim[int(value[1:])]
    return value


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    listed = list(words)
    cut = listed.index("--") if "--" in listed else len(listed)
    return listed[:cut], listed[cut:]


def pair_argument(parser: Parser, option: str) -> None:
    """The option by which a command asks the coordination server."""
    parser.add_argument(
        option,
        type=port,
        dest="pair_port",
        metavar="N",
        help="ask the coordination server on this port, and not this machine's files",
    )


def port(text: str) -> int:
    """The type of an option that names where somebody listens."""
    number = int(text)
    if not 0 < number < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is no port: 1 to 65535")
    return number


def natural(text: str) -> int:
    """The type of an option that counts from 0."""
    number = int(text)
    if number < 0:
        raise ValueError(f"{text} is below 0")
    return number


def seconds(text: str) -> float:
    """The type of an option that says how long to wait."""
    number = float(text)
    if not 0 < number <= _LONGEST_SECONDS:  # NaN is neither
        raise argparse.ArgumentTypeError(f"{text} is no time to wait: give seconds, more than 0")
    return number
