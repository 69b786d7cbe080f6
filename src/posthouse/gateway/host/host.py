"""The gateways of one runtime root in one process: added, removed, and resumed after a crash."""

import asyncio
import logging
from pathlib import Path

from posthouse.contracts import gateway_host as gh
from posthouse.errors import InvalidInput
from posthouse.gateway.host.hosted_gateway import AlreadyServed, HostedGateway
from posthouse.gateway_lifecycle import host_registry
from posthouse.sessions.session import SessionNotFound
from posthouse.support import crashpoints


class Host:
    """The gateways of one host. The caller holds the lock of the runtime root."""

    def __init__(self, runtime_root: Path, log: logging.Logger) -> None:
        self._runtime_root = runtime_root
        self._log = log
        self._gateways: dict[str, HostedGateway] = {}
        #: Serializes changes of the registry.
        self._registry_lock = asyncio.Lock()

    async def resume(self) -> None:
        """Serve the registered gateways again. Returns after one concurrent attempt for each."""
        entries = await asyncio.to_thread(host_registry.read, self._runtime_root)
        for entry in entries:
            if entry.gateway_root not in self._gateways:  # an earlier attempt may have failed half-way
                self._gateways[entry.gateway_root] = HostedGateway(entry, self._log)
        gateways = [self._gateways[entry.gateway_root] for entry in entries]
        failures = await asyncio.gather(*[gateway.wait_attempted() for gateway in gateways])
        for entry, failure in zip(entries, failures, strict=True):
            if isinstance(failure, SessionNotFound | AlreadyServed):
                # Its session was removed, or another process serves it: a retry is pointless.
                await self.release(entry)
        self._log.info("host resumed", extra={"gateways": len(self._gateways)})

    async def adopt(self, entry: gh.HostRegistryEntry) -> tuple[gh.HostedGatewayStatus, ...]:
        """Serve a gateway, now and after each restart. One that is served already stays unchanged.

        Raises:
            InvalidInput: `foreign_gateway`: it belongs to another runtime root.
            Exception: The error of the first attempt; the gateway is then not in the registry.
        """
        self._check(entry)
        gateway = self._gateways.get(entry.gateway_root)
        if gateway is None:
            gateway = await self._register(entry)
        failure = await gateway.wait_attempted()
        if failure is not None:
            await self.release(entry)
            raise failure
        return (gateway.status,)

    async def release(self, entry: gh.HostRegistryEntry) -> tuple[gh.HostedGatewayStatus, ...]:
        """Stop serving a gateway. When this returns, its lock is free and it is not in the registry."""
        gateway = self._gateways.pop(entry.gateway_root, None)
        async with self._registry_lock:
            await asyncio.to_thread(host_registry.remove, self._runtime_root, entry.gateway_root)
        crashpoints.reach("gateway off the roll")
        if gateway is not None:
            await gateway.stop()
        return ()

    def statuses(self) -> tuple[gh.HostedGatewayStatus, ...]:
        return tuple(gateway.status for gateway in self._gateways.values())

    async def close(self) -> None:
        """Stop all gateways. They stay in the registry, for the next host."""
        await asyncio.gather(*[gateway.stop() for gateway in self._gateways.values()])

    async def _register(self, entry: gh.HostRegistryEntry) -> HostedGateway:
        async with self._registry_lock:
            # Registered first, so that a host that dies now resumes it.
            await asyncio.to_thread(host_registry.add, self._runtime_root, entry)
        crashpoints.reach("gateway on the roll")
        if entry.gateway_root not in self._gateways:  # two callers may have requested it
            self._gateways[entry.gateway_root] = HostedGateway(entry, self._log)
        return self._gateways[entry.gateway_root]

    def _check(self, entry: gh.HostRegistryEntry) -> None:
        root = Path(entry.gateway_root)
        if not root.is_absolute() or root.name != "gateway" or root.parents[3] != self._runtime_root:
            raise InvalidInput(
                f"{root} is not a gateway folder of {self._runtime_root}", code="foreign_gateway"
            )
