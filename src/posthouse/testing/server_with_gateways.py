"""Agents without a terminal that a coordination server finds, with whatever stands as their gateway."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import manifest as m
from posthouse.contracts import registry as r
from posthouse.contracts import strict
from posthouse.gateway_lifecycle import gateway_lock, mailbox
from posthouse.gateway_lifecycle.session_hooks import GatewaySessionHooks
from posthouse.sessions import mailbox_binding, registry
from posthouse.sessions import session as sessions
from posthouse.sessions.agents import Agents
from posthouse.sessions.registry import Registry
from posthouse.sessions.roots import Roots
from posthouse.sessions.session import TMUX_SOCKET, Session
from posthouse.support import clock, files, locks
from posthouse.terminal.client import Server
from posthouse.testing import running_gateways
from posthouse.testing import server as server_module
from posthouse.testing.gateway import FakeAgent


@dataclass(frozen=True, slots=True, kw_only=True)
class Fronted:
    """A server, and one agent behind it."""

    server: server_module.Served
    session: Session
    agents: Agents

    def at(self, place: str) -> str:
        """The path of *place* below the agent."""
        return f"/houmao/agents/{self.session.agent_id}/{place}"


def agents_in(folder: Path) -> Agents:
    """Nobody yet; no tmux server is there to be asked."""
    roots = Roots(registry=folder / "registry", runtime=folder / "runtime", mailbox=folder / "mailbox")
    return Agents(roots, Registry(roots.registry), Server(str(folder / "no-tmux")), GatewaySessionHooks())


def register(session: Session, agents: Agents) -> Session:
    """*session* as the server will find it."""

    def away(manifest: m.Manifest) -> m.Manifest:
        return structs.replace(manifest, backend_state={TMUX_SOCKET: agents.server.socket})

    made = sessions.update(session, away)
    agents.registry.publish(record_of(made))
    return made


def record_of(session: Session) -> r.Record:
    """The record of an agent that runs."""
    return r.Record(
        schema_version=r.SCHEMA_VERSION,
        agent_name=session.agent_name,
        agent_id=session.agent_id,
        generation_id=session.manifest.registry_generation_id or "generation",
        lifecycle=r.Lifecycle(
            state="active", relaunchable=True, state_updated_at=clock.iso_seconds(clock.now())
        ),
        identity=r.Identity(backend=session.manifest.backend, tool=session.manifest.tool),
        runtime=r.Runtime(manifest_path=str(session.manifest_path), session_root=str(session.root)),
        terminal=r.Terminal(
            current_session_name=session.tmux_session_name, last_session_name=session.tmux_session_name
        ),
        liveness=registry.lease(),
    )


def give_mailbox(session: Session, agents: Agents) -> Session:
    """*session* with a mailbox of its own below the roots."""
    owner = mailbox_binding.MailboxOwner(
        agent_name=session.agent_name,
        default_root=agents.roots.mailbox,
        working_directory=agents.roots.mailbox,
    )
    wish = mailbox_binding.MailboxDeclaration(transport="filesystem")
    binding = mailbox_binding.resolve(wish, owner, moment=clock.now())
    mailbox.ensure_mailbox(session, binding)
    return mailbox_binding.bind(session, binding, agents.registry)


@contextmanager
def claimed(session: Session, port: int) -> Iterator[None]:
    """What listens on *port* is the live gateway of *session*, and this process holds its folder."""
    instance = gf.CurrentInstance(
        schema_version=1,
        protocol_version="v1",
        pid=os.getpid(),
        host="127.0.0.1",
        port=port,
        execution_mode="detached_process",
        managed_agent_instance_epoch=1,
        managed_agent_instance_id="one",
    )
    root = session.gateway_root
    with locks.hold(root / gateway_lock.LOCK):
        files.private_folder((root / gf.CURRENT_INSTANCE).parent)
        files.write_json(root / gf.CURRENT_INSTANCE, strict.plain(instance), durable=False)
        yield
    (root / gf.CURRENT_INSTANCE).unlink(missing_ok=True)


@contextmanager
def fronted(folder: Path, agent: Callable[[], FakeAgent], *, has_mail: bool = True) -> Iterator[Fronted]:
    """A server in front of a whole gateway around *agent*, both in this process."""
    agents = agents_in(folder)
    with ExitStack() as house:
        gateway = house.enter_context(running_gateways.serving(folder, agent))
        session = register(sessions.read(gateway.root.parent / "manifest.json"), agents)
        if has_mail:
            session = give_mailbox(session, agents)
        house.enter_context(claimed(session, gateway.port))
        server = house.enter_context(server_module.serving(agents))
        yield Fronted(server=server, session=session, agents=agents)
