"""Prompts that a command carries out by itself."""

import asyncio

import pytest

from posthouse import agent
from posthouse.agent.adapter import Prompt
from posthouse.cli.direct_driver import PromptThread
from posthouse.sessions.session import Session


def test_a_fault_of_ours_reaches_who_waits(made_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception ends the thread and is raised in `finish`."""

    class Faulty:
        """An adapter with a fault that no test of ours has found."""

        async def open(self, on_change: object) -> None:
            await asyncio.sleep(0)
            raise KeyError("boot_id")

    monkeypatch.setattr(agent, "for_session", lambda _session: Faulty())

    thread = PromptThread(made_session, Prompt(text="hello"), ready_seconds=1.0)

    with pytest.raises(KeyError, match="boot_id"):
        thread.finish()
