"""Finds the live gateway of an agent and sends requests to it.

The gateway's folder alone is not trusted: its process must hold the folder's lock and answer `GET /health`
within `HEALTH_SECONDS`. Both are checked before each use. A process that hangs (stopped, swapped out) then
costs its caller one short timeout, and never executes a request later that was answered with 503.
"""

import asyncio
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from posthouse.clients.connections import BadResponse, ConnectionPool, HttpResponse
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names, strict
from posthouse.errors import PosthouseError, Unavailable
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.server.member import Member
from posthouse.support import untrusted_files
from posthouse.support.tracing import NO_TRACING, Tracing

#: Timeout of the health check, which a gateway answers from memory in milliseconds.
HEALTH_SECONDS = 2.0
#: Timeout of the health check of a hung gateway. Until then callers fail without waiting; when the gateway
#: answers, it is used again at once.
_HUNG_SECONDS = 30.0
#: Default request timeout; a prompt may wait for the agent's screen.
ASK_SECONDS = 30.0
_HEALTHY = {"protocol_version": names.PROTOCOL_VERSION, "status": "ok"}
_NO_FIELDS: Mapping[str, str] = {}
#: Size of the cache; the oldest entry is evicted.
_MAX_KNOWN = 4096


class NoLiveGateway(Unavailable):
    """The agent has no usable gateway; the message gives the reason and the remedy."""

    code = "no_live_gateway"


class GatewayHung(NoLiveGateway):
    """The gateway process runs but does not answer; it may still execute accepted requests."""

    code = "gateway_hangs"


class GatewayLost(Unavailable):
    """The gateway ended or stopped responding before it answered. The request may have been executed."""

    code = "gateway_lost"


class BadGatewayResponse(PosthouseError):
    """The response did not come from a Posthouse gateway. The request may have been executed."""

    code = "gateway_garbled"


class LiveGateway:
    """One gateway process that answers requests."""

    def __init__(self, member: Member, instance: gf.CurrentInstance, tracing: Tracing = NO_TRACING) -> None:
        self.instance = instance
        #: Set after a failed request; the gateway is then located again.
        self.has_failed = False
        self._member = member
        self._tracing = tracing
        # 0.0.0.0 is a bind address, not a destination.
        self._connections = ConnectionPool("127.0.0.1", instance.port)
        #: The health check in progress, shared by all callers.
        self._checking: asyncio.Task[str | None] | None = None
        self._is_hung = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        query: Mapping[str, str] | str | None = None,
        headers: Mapping[str, str] = _NO_FIELDS,
        seconds: float = ASK_SECONDS,
    ) -> HttpResponse:
        """Send a request; return the response of any status. *path* is URL-encoded; *body* is JSON.

        Raises:
            GatewayLost: The gateway ended or timed out.
            BadGatewayResponse: The response is not HTTP.
        """
        encoded = query if isinstance(query, str) else urllib.parse.urlencode(query or {})
        target = f"{path}?{encoded}" if encoded else path
        kind = {} if body is None else {"content-type": "application/json"}
        with self._tracing.client_span(f"{method} gateway") as span:
            span.set_attribute("posthouse.agent.id", self._member.tracked_agent_id)
            span.set_attribute("url.path", path)
            sent = {**kind, **headers, **self._tracing.propagation_headers()}
            answer = await self._send(method, target, sent, body, seconds)
            span.set_attribute("http.response.status_code", answer.status)
            return answer

    async def _send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> HttpResponse:
        try:
            return await self._connections.request(
                method, target, headers=headers, body=body, seconds=seconds
            )
        except TimeoutError as error:
            self.has_failed = True
            raise GatewayLost(f"{self} did not answer within {seconds:g} s; {_MAYBE_DONE}") from error
        except OSError as error:
            self.has_failed = True
            raise GatewayLost(
                f"{self} ended before it answered ({error.strerror or error}); {_MAYBE_DONE}"
            ) from error
        except BadResponse as error:
            self.has_failed = True
            raise BadGatewayResponse(
                f"the process that listens as {self} is not a Posthouse gateway ({error}); "
                f"{restart_hint(self._member)}"
            ) from error

    async def check(self) -> None:
        """Return when the health check succeeds. Concurrent callers share one check.

        The first caller waits up to `HEALTH_SECONDS` for a hung gateway; until that check ends, later callers
        fail without waiting.

        Raises:
            GatewayHung: No answer in time; no request was sent.
            NoLiveGateway: The gateway ended, is unhealthy or has another version.
        """
        if self._checking is None or self._checking.done():
            self._is_hung = False
            self._checking = asyncio.create_task(self._check())
        checking = self._checking
        if not self._is_hung:
            await asyncio.wait({checking}, timeout=HEALTH_SECONDS)
        if not checking.done():
            self._is_hung = True
            message = f"{self} hangs: it did not answer its health check within {HEALTH_SECONDS:g} s"
            raise GatewayHung(f"{message}; {_resume(self._member)}")
        if (problem := checking.result()) is not None:
            raise NoLiveGateway(problem)

    def close(self) -> None:
        """Close idle connections; requests in progress complete."""
        self._connections.close()

    async def _check(self) -> str | None:
        try:
            answer = await self._send("GET", "/health", _NO_FIELDS, None, _HUNG_SECONDS)
        except GatewayLost as error:
            # A health check has no effect, so the result is not uncertain.
            return f"{str(error).removesuffix(_MAYBE_DONE)}{restart_hint(self._member)}"
        except BadGatewayResponse as error:
            return str(error)
        if (problem := _health_problem(answer)) is not None:
            self.has_failed = True
            return f"{self} {problem}; {restart_hint(self._member)}"
        return None

    def __str__(self) -> str:
        name = self._member.record.agent_name
        return f"the gateway of {name!r} (process {self.instance.pid}, port {self.instance.port})"


class Gateways:
    """The live gateways of the server's agents."""

    def __init__(self, tracing: Tracing = NO_TRACING) -> None:
        self._tracing = tracing
        self._known: dict[str, LiveGateway] = {}

    async def live(self, member: Member) -> LiveGateway | None:
        """The agent's gateway, or None when it has none.

        Raises:
            GatewayHung: The gateway exists but does not answer, and still owns the agent.
        """
        try:
            return await self.require(member)
        except GatewayHung:
            raise
        except NoLiveGateway:
            return None

    async def require(self, member: Member) -> LiveGateway:
        """The agent's gateway.

        Raises:
            NoLiveGateway: No gateway answers; `GatewayHung` when its process still runs.
        """
        agent_id = member.tracked_agent_id
        try:
            instance = await asyncio.to_thread(_read_instance, member)
        except NoLiveGateway:
            self._forget(agent_id)
            raise
        gateway = self._known.get(agent_id)
        if gateway is None or gateway.has_failed or gateway.instance != instance:
            gateway = self._remember(agent_id, LiveGateway(member, instance, self._tracing))
        await gateway.check()
        return gateway

    def close(self) -> None:
        for agent_id in [*self._known]:
            self._forget(agent_id)

    def _remember(self, agent_id: str, gateway: LiveGateway) -> LiveGateway:
        self._forget(agent_id)
        if len(self._known) >= _MAX_KNOWN:
            self._forget(next(iter(self._known)))
        self._known[agent_id] = gateway
        return gateway

    def _forget(self, agent_id: str) -> None:
        if (gateway := self._known.pop(agent_id, None)) is not None:
            gateway.close()


_MAYBE_DONE = "the request may have been executed: check before you repeat it"


def gateway_command(member: Member, verb: str) -> str:
    """The command line for *verb* (`attach`, `detach`) on the agent's gateway."""
    return f"`posthouse agents single --agent-id {member.record.agent_id} gateway {verb}`"


def restart_hint(member: Member) -> str:
    return f"start it again with {gateway_command(member, 'detach')} and {gateway_command(member, 'attach')}"


def _resume(member: Member) -> str:
    return f"if its process is stopped, continue it (SIGCONT); otherwise {restart_hint(member)}"


def gateway_root(member: Member) -> Path:
    """The agent's gateway folder."""
    return Path(member.record.runtime.manifest_path).parent / "gateway"


def _read_instance(member: Member) -> gf.CurrentInstance:
    """The process recorded in the gateway's folder, if it holds the folder's lock. Reads files.

    Raises:
        NoLiveGateway: No process is recorded, or it is gone or of another version.
    """
    name, root = member.record.agent_name, gateway_root(member)
    try:
        content = untrusted_files.read_own_bytes(root / gf.CURRENT_INSTANCE)
        instance = strict.decode(content, gf.CurrentInstance)
    except (FileNotFoundError, NotADirectoryError):
        raise NoLiveGateway(
            f"{name!r} has no gateway; start one with {gateway_command(member, 'attach')}"
        ) from None
    except OSError as error:
        raise NoLiveGateway(f"the gateway folder of {name!r} can't be read: {error}") from error
    except ValueError as error:
        raise NoLiveGateway(
            f"the gateway of {name!r} has another version: {root / gf.CURRENT_INSTANCE}: {error}; "
            f"{restart_hint(member)}"
        ) from error
    if gateway_lock.holder_of(root) != instance.pid:
        raise NoLiveGateway(
            f"the gateway of {name!r} has died (process {instance.pid} is gone); "
            f"start it again with {gateway_command(member, 'attach')}"
        )
    return instance


def _health_problem(answer: HttpResponse) -> str | None:
    """Why a response to `GET /health` is not healthy, or None."""
    try:
        health = strict.parse(answer.body)
    except ValueError:
        health = None
    if not isinstance(health, dict):
        return f"answered {answer.status} with a body that is not a gateway's"
    if answer.status != 200:
        return f"is not healthy: {health.get('detail', answer.status)}"
    if health.get("protocol_version") != names.PROTOCOL_VERSION:
        return (
            f"speaks protocol {health.get('protocol_version')!r}, and this server {names.PROTOCOL_VERSION!r}"
        )
    return None if health == _HEALTHY else f"reports status {health.get('status')!r}"
