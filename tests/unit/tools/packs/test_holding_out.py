"""Packs are read on screens that they were not written from: captures in other colours, of other people."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from posthouse import tools
from posthouse.terminal.screen import Screen
from posthouse.tools.packs import captures

TOOLS = [tool for tool in captures.tools() if tool != "scripted"]
_COLOUR = re.compile(r"\x1b\[(?:[34]8[;:]5[;:]\d+|[34]8[;:]2[;:][\d;:]+|[349]\d|10\d)m")
_COLOUR_256 = re.compile(r"\x1b\[([34])8;5;(\d+)m")
_OTHER_NAMES = {
    "Opus 4.8": "Nova 9.1",
    "v2.1.197": "v2.1.999",
    "/home/me/": "/srv/it1/",
    "Crunched": "Whittled",
    "Brewed": "Bobbed",
    "Cogitated": "Juggled",
    "high · /effort": "none · /effort",
}
_NAMES = re.compile("|".join(map(re.escape, _OTHER_NAMES)))
#: Nobody could tell without colours that these are the agent's own words.
_TOLD_BY_COLOUR = ("answer-says-",)
#: A draft hides the footer, streaming hides the spinner, and there is no colour: only the title is left.
_TOLD_BY_TITLE = ("active-queued-taken-back-mono",)


def _without_colours(screen: Screen) -> Screen:
    return replace(screen, rows=tuple(_COLOUR.sub("", row) for row in screen.rows))


def _in_16_colours(screen: Screen) -> Screen:
    def nearest(match: re.Match[str]) -> str:
        return f"\x1b[{match[1]}{int(match[2]) % 7 + 1}m"

    return replace(screen, rows=tuple(_COLOUR_256.sub(nearest, row) for row in screen.rows))


def _in_true_colours(screen: Screen) -> Screen:
    def exact(match: re.Match[str]) -> str:
        return f"\x1b[{match[1]}8;2;{match[2]};{match[2]};7m"

    return replace(screen, rows=tuple(_COLOUR_256.sub(exact, row) for row in screen.rows))


def _of_somebody_else(screen: Screen) -> Screen:
    return replace(screen, rows=tuple(map(_renamed, screen.rows)))


def _renamed(text: str) -> str:
    return _NAMES.sub(lambda match: _OTHER_NAMES[match[0]], text)


def _lower_on_a_taller_screen(screen: Screen) -> Screen:
    cursor = screen.cursor and (screen.cursor[0], screen.cursor[1] + 5)
    return replace(screen, rows=("",) * 5 + screen.rows, cursor=cursor)


@pytest.mark.parametrize(
    "changed",
    [_without_colours, _in_16_colours, _in_true_colours, _of_somebody_else, _lower_on_a_taller_screen],
)
@pytest.mark.parametrize("tool", TOOLS)
def test_captures_mean_the_same_in_other_surroundings(tool: str, changed: Callable[[Screen], Screen]) -> None:
    """Colours, names, words and places are nothing that a pack leans on."""
    folder, wrong = captures.folder_of(tool), {}
    for name, expected in captures.expected(folder).items():
        if changed is _without_colours and name.startswith(_TOLD_BY_COLOUR):
            continue
        read = captures.expected_state(tools.load(tool).read_surface(changed(captures.screen(folder, name))))
        if read != (json.loads(_renamed(json.dumps(expected))) if changed is _of_somebody_else else expected):
            wrong[name] = read

    assert wrong == {}


@pytest.mark.parametrize("tool", ["claude"])
def test_a_screen_says_the_same_without_its_title(tool: str) -> None:
    """Where nobody tells the title, the screen alone is enough."""
    folder, wrong = captures.folder_of(tool), {}
    for name, expected in captures.expected(folder).items():
        if name in _TOLD_BY_TITLE:
            continue
        screen = replace(captures.screen(folder, name), title="", cursor=None)
        read = captures.expected_state(tools.load(tool).read_surface(screen))
        if read != expected:
            wrong[name] = read

    assert wrong == {}
