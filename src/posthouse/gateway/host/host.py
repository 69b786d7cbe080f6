"""The gateways of one runtime root in one process: taken in, let go, taken up again after a crash."""

import asyncio
import logging
from pathlib import Path

from posthouse.contracts import gateway_host as gh
from posthouse.errors import InvalidInput
from posthouse.gateway.host.hosted_gateway import AlreadyServed, Tenant
from posthouse.gateway_lifecycle import host_registry
from posthouse.sessions.session import SessionNotFound
from posthouse.support import crashpoints


class ForeignGateway(InvalidInput):
    """That gateway is not of the host's runtime root."""

    code = "foreign_gateway"


class Host:
    """What one host serves. Its caller holds the lock of the runtime root."""

    def __init__(self, runtime_root: Path, log: logging.Logger) -> None:
        self._runtime_root = runtime_root
        self._log = log
        self._tenants: dict[str, Tenant] = {}
        #: The roll is read, changed and written by one at a time.
        self._changing = asyncio.Lock()

    async def resume(self) -> None:
        """Serve again what was served last. Returns when each has been tried once; none waits for another."""
        seats = await asyncio.to_thread(host_registry.read, self._runtime_root)
        for seat in seats:
            if seat.gateway_root not in self._tenants:  # an earlier try may have died half-way
                self._tenants[seat.gateway_root] = Tenant(seat, self._log)
        tenants = [self._tenants[seat.gateway_root] for seat in seats]
        failures = await asyncio.gather(*[tenant.tried() for tenant in tenants])
        for seat, failure in zip(seats, failures, strict=True):
            if isinstance(failure, SessionNotFound | AlreadyServed):
                # Its session was removed, or has found another process: there is nothing to try again.
                await self.release(seat)
        self._log.info("host resumed", extra={"gateways": len(self._tenants)})

    async def adopt(self, seat: gh.Seat) -> tuple[gh.Tenancy, ...]:
        """Serve a gateway, from now on and after each restart. One that is served already stays as it is.

        Raises:
            ForeignGateway: It belongs to another runtime root.
            Exception: Whatever kept it from being served; it is then not on the roll.
        """
        self._check(seat)
        tenant = self._tenants.get(seat.gateway_root)
        if tenant is None:
            tenant = await self._take_in(seat)
        failure = await tenant.tried()
        if failure is not None:
            await self.release(seat)
            raise failure
        return (tenant.tenancy,)

    async def release(self, seat: gh.Seat) -> tuple[gh.Tenancy, ...]:
        """Serve it no more. When this returns its lock is free, and it is off the roll."""
        tenant = self._tenants.pop(seat.gateway_root, None)
        async with self._changing:
            await asyncio.to_thread(host_registry.remove, self._runtime_root, seat.gateway_root)
        crashpoints.reach("gateway off the roll")
        if tenant is not None:
            await tenant.leave()
        return ()

    def listing(self) -> tuple[gh.Tenancy, ...]:
        return tuple(tenant.tenancy for tenant in self._tenants.values())

    async def close(self) -> None:
        """Stop all of them. They stay on the roll, for the next host."""
        await asyncio.gather(*[tenant.leave() for tenant in self._tenants.values()])

    async def _take_in(self, seat: gh.Seat) -> Tenant:
        async with self._changing:
            # On the roll first: a host that dies now takes it up again.
            await asyncio.to_thread(host_registry.add, self._runtime_root, seat)
        crashpoints.reach("gateway on the roll")
        if seat.gateway_root not in self._tenants:  # two callers may have asked for it
            self._tenants[seat.gateway_root] = Tenant(seat, self._log)
        return self._tenants[seat.gateway_root]

    def _check(self, seat: gh.Seat) -> None:
        root = Path(seat.gateway_root)
        if not root.is_absolute() or root.name != "gateway" or root.parents[3] != self._runtime_root:
            raise ForeignGateway(f"{root} is no gateway folder of {self._runtime_root}")
