"""Prompts that a command carries out by itself."""

import asyncio

import pytest

from posthouse import agent
from posthouse.agent.adapter import Prompt
from posthouse.cli.direct_driver import Carrier
from posthouse.sessions.session import Session


def test_a_fault_of_ours_reaches_who_waits(made_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the thread that carries the prompt out, and nobody waits for an answer that never comes."""

    class Faulty:
        """An adapter with a fault that no test of ours has found."""

        async def open(self, on_change: object) -> None:
            await asyncio.sleep(0)
            raise KeyError("boot_id")

    monkeypatch.setattr(agent, "of", lambda _found: Faulty())

    carrier = Carrier(made_session, Prompt(text="hello"), ready_seconds=1.0)

    with pytest.raises(KeyError, match="boot_id"):
        carrier.finish()
