"""The status files that a live gateway publishes for other processes.

All of them are projections; the queue is the authority. A file is written only when its content changed.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from posthouse.contracts import gateway_files as gf
from posthouse.contracts.gateway_http import GatewayStatus
from posthouse.gateway.status import Binding
from posthouse.sessions import publication
from posthouse.sessions import session as sessions
from posthouse.sessions.session import Session
from posthouse.support import files

#: Debounce: changes within this time are written once.
_COALESCE_SECONDS = 0.05


def live_attach(session: Session, binding: Binding) -> gf.Attach:
    """`attach.json`, derived from the manifest and this listener; an existing file is ignored."""
    return msgspec.structs.replace(
        publication.attach_of(session), desired_host=binding.host, desired_port=binding.port
    )


def current_instance(binding: Binding, status: GatewayStatus) -> gf.CurrentInstance:
    """`run/current-instance.json` of this process."""
    return gf.CurrentInstance(
        schema_version=1,
        protocol_version="v1",
        pid=os.getpid(),
        host=binding.host,
        port=binding.port,
        execution_mode=binding.mode,
        managed_agent_instance_epoch=status.managed_agent_instance_epoch,
        managed_agent_instance_id=status.managed_agent_instance_id,
        tmux_window_id=binding.tmux_window_id,
        tmux_window_index=binding.tmux_window_index,
        tmux_pane_id=binding.tmux_pane_id,
    )


class Publisher:
    """Keeps the derived files of one live gateway equal to its status."""

    def __init__(self, session: Session, attach: gf.Attach, binding: Binding, log: logging.Logger) -> None:
        self._session = session
        self._root = session.gateway_root
        self._attach = attach
        self._binding = binding
        self._log = log
        self._written: dict[Path, Mapping[str, Any]] = {}
        self._agent: tuple[str, str | None] | None = None
        self._status: Callable[[], GatewayStatus] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def publish(self, status: GatewayStatus) -> None:
        """Write everything that differs from what is on disk, now."""
        instance = current_instance(self._binding, status)
        agent = (status.managed_agent_connectivity, status.managed_agent_instance_id)
        if agent != self._agent:
            # A relaunch of the agent publishes these files again, so our version may be overwritten.
            self._written.clear()
            self._agent = agent
        self._write(gf.ATTACH, msgspec.to_builtins(self._attach))
        self._write(gf.GATEWAY_MANIFEST, gf.gateway_manifest(self._attach, instance))
        self._write(gf.STATE, status.model_dump(mode="json"))
        if self._write(gf.CURRENT_INSTANCE, msgspec.to_builtins(instance)):
            files.write_whole(self._root / gf.PID, f"{instance.pid}\n".encode(), durable=False)

    def publish_soon(self, status: Callable[[], GatewayStatus]) -> None:
        """Write the value of *status* after the debounce delay. Never fails."""
        self._status = status
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_COALESCE_SECONDS, self._flush)

    def retire(self, queue_depth: int) -> None:
        """Publish that no gateway runs here. Never fails: readers check liveness themselves."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            for name in (gf.CURRENT_INSTANCE, gf.PID):
                (self._root / name).unlink(missing_ok=True)
            # Read again: turns have changed the manifest in the meantime.
            publication.publish_offline(sessions.read(self._session.manifest_path), queue_depth=queue_depth)
        except OSError as error:
            self._log.warning("state files could not be written", extra={"error": str(error)})

    def _flush(self) -> None:
        self._timer = None
        if self._status is None:
            return
        try:
            self.publish(self._status())
        except OSError as error:
            # The files are stale until the next change; HTTP still serves the live status.
            self._log.warning("state files could not be written", extra={"error": str(error)})

    def _write(self, name: str, content: Mapping[str, Any]) -> bool:
        path = self._root / name
        if self._written.get(path) == content:
            return False
        files.write_json(path, content, durable=False)
        self._written[path] = content
        return True
