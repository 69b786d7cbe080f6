"""Real agents of the scripted tool on a private tmux server, with real gateways."""

import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posthouse.clients.gateway import GatewayClient
from posthouse.contracts import gateway_files as gf
from posthouse.gateway_lifecycle import attach
from posthouse.gateway_lifecycle.attach import AttachResult
from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
from posthouse.sessions.agents import Agents
from posthouse.sessions.launch import LaunchSpec
from posthouse.sessions.launch_files import ManagedBy
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import Session
from posthouse.terminal.client import Server
from posthouse.testing.truth import TruthLog
from posthouse.testing.waiting import wait_for
from posthouse.turns import runner


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A set of roots, a tmux server, and the sessions made there."""

    agents: Agents
    registry: Registry
    folder: Path
    sessions: list[Session] = field(default_factory=list)

    def launch(
        self,
        *,
        headless: bool,
        name: str = "gpu",
        has_mailbox: bool = False,
        managed_by: ManagedBy | None = None,
    ) -> Session:
        made = self.agents.launch(
            LaunchSpec(
                tool="scripted",
                name=name,
                headless=headless,
                working_directory=self.folder,
                mailbox={} if has_mailbox else None,
                managed_by=managed_by,
            )
        )
        self.sessions.append(made)
        return made

    def attach(
        self,
        session: Session,
        *,
        mode: gf.ExecutionMode | None = None,
        port: int | None = None,
    ) -> AttachResult:
        return attach.attach(session, self.registry, environment=os.environ, mode=mode, port=port)

    def client(self, session: Session) -> GatewayClient:
        """A client of the session's live gateway."""
        there = attach.live(session)
        assert there is not None
        return GatewayClient(there.host, there.port)

    def rows(self, session: Session) -> list[tuple[str, str, str | None]]:
        """Kind, state and error of every request, in order."""
        with sqlite3.connect(session.gateway_root / gf.QUEUE) as connection:
            return connection.execute(
                "SELECT request_kind, state, error_detail FROM gateway_requests ORDER BY rowid"
            ).fetchall()

    def truth(self, session: Session) -> TruthLog:
        """What the agent really received."""
        return TruthLog(Path(session.manifest.launch_plan.home_selector.home_path) / "truth.jsonl")

    def events(self, session: Session) -> list[dict[str, Any]]:
        """What happened to requests, as the contract tells it, without stages and screens."""
        lines = (session.gateway_root / gf.EVENTS).read_text().splitlines()
        told = [json.loads(line) for line in lines]
        ours = ("request_", "tui_", "events_", "dialog_")
        return [event for event in told if not event["kind"].startswith(ours)]

    def receipt(self, session: Session, request_id: str) -> dict[str, Any]:
        """A request's receipt once it has its end."""
        client = self.client(session)
        self.until(lambda: client.receipt(request_id)["state"] not in ("accepted", "running"))
        return client.receipt(request_id)

    def read(self, session: Session, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((session.gateway_root / name).read_bytes())
        return content

    def tmux_clients(self, session: Session) -> list[int]:
        """The processes of the clients that are attached to the session's tmux server."""
        return [int(pid) for pid in session.tmux.run("list-clients", "-F", "#{client_pid}").splitlines()]

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for *condition*; if it never holds, the error shows the gateways' logs."""
        wait_for(condition, told=self._logs)

    def _logs(self) -> str:
        logs = [one.gateway_root / gf.LOG for one in self.sessions]
        return "\n".join(["the gateways' logs:", *(log.read_text() for log in logs if log.exists())])

    def settle(self, session: Session) -> None:
        """Wait until nothing is accepted or running."""
        client = self.client(session)

        def is_at_rest() -> bool:
            status = client.status()  # an end is written a moment before it is told
            return (status["queue_depth"], status["active_execution"]) == (0, "idle")

        self.until(is_at_rest)

    def end(self) -> None:
        """End every gateway and turn; the tmux server is the caller's."""
        for session in self.sessions:
            attach.detach(session, self.registry)
            for turn in runner.turns_of(session.turns_root):
                turn.kill()


def house_in(folder: Path, server: Server) -> House:
    """A house below *folder*, empty."""
    roots = Roots(registry=folder / "registry", runtime=folder / "runtime", mailbox=folder / "mailbox")
    registry = Registry(roots.registry)
    agents = Agents(roots, registry, server, GatewaySessionHooks())
    return House(agents=agents, registry=registry, folder=folder)
