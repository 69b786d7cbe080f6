"""The table of commands."""

import importlib

import pytest

from posthouse.cli import tree


@pytest.mark.parametrize("command", tree.COMMANDS.values(), ids=lambda command: " ".join(command.path))
def test_every_command_has_a_body(command: tree.Command) -> None:
    """No row of the table points at nothing."""
    module, _, function = command.handler.partition(".")

    assert callable(getattr(importlib.import_module(f"posthouse.cli.commands.{module}"), function))


def test_a_verb_is_in_three_scopes_and_stop_is_not_for_oneself() -> None:
    """Each verb is written once and found as a short form, in `single` and in `self`."""
    places = {
        path
        for path in tree.COMMANDS
        if path[-1] in ("prompt", "stop") and path[0] == "agents" and "gateway" not in path
    }

    assert places == {
        ("agents", "prompt"),
        ("agents", "single", "prompt"),
        ("agents", "self", "prompt"),
        ("agents", "stop"),
        ("agents", "single", "stop"),
    }
    assert {tree.COMMANDS[path].handler for path in places if path[-1] == "prompt"} == {"prompt.prompt"}


def test_children_are_commands_and_groups_but_nothing_hidden() -> None:
    """Help and completion show each next word once, with a summary."""
    root = tree.children(())

    assert list(root) == [
        "agents",
        "serve",
        "project",
        "tokens",
        "mcp",
        "doctor",
        "gateway",
        "tui",
        "internals",
        "demo",
        "mailbox",
        "admin",
        "completion",
    ]
    assert all(root.values())
    assert all(tree.children(("agents",)).values())
    assert list(tree.children(("agents", "self", "turn"))) == [
        "submit",
        "status",
        "events",
        "stdout",
        "stderr",
    ]
