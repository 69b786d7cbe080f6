"""The gateway status of an agent without a live gateway, from files on disk."""

import asyncio
from pathlib import Path
from typing import Any

from posthouse.contracts import gateway_files as gf
from posthouse.errors import PosthouseError
from posthouse.queue import depth_of
from posthouse.server.gateways import gateway_root
from posthouse.server.member import Member
from posthouse.sessions import publication, session


async def status_of(member: Member) -> dict[str, Any]:
    """The offline status. Never fails: unreadable files count as defaults."""
    return await asyncio.to_thread(_status_of, member)


def _status_of(member: Member) -> dict[str, Any]:
    mode: gf.ExecutionMode = "detached_process"
    try:
        found = session.read(Path(member.record.runtime.manifest_path))
        attach = publication.attach_of(found)
        mode = publication.desired_config(found).desired_execution_mode
    except (PosthouseError, OSError):
        attach = _attach_of(member)
    return gf.offline_status(attach, mode, queue_depth=depth_of(gateway_root(member) / gf.QUEUE))


def _attach_of(member: Member) -> gf.Attach:
    """Attach data from the agent's record alone."""
    record, root = member.record, gateway_root(member).parent
    return gf.Attach(
        attach_identity=member.session_id or root.name,
        backend=record.identity.backend,
        tmux_session_name=member.tmux_session_name,
        working_directory=str(root),
        backend_metadata=gf.BackendMetadata(tool=record.identity.tool),
    )
