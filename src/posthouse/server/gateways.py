"""The live gateway behind an agent, and one way to ask it.

What the gateway's folder says is never enough: its process must hold that folder, and it must answer
`GET /health` within `HEALTH_SECONDS`. Both are checked before each use, so that a process that hangs
(stopped, swapped out) costs its caller a moment, and carries out nothing later that was answered with 503.
"""

import asyncio
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from posthouse.clients.connections import Answer, BadAnswer, Connections
from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names, strict
from posthouse.errors import PosthouseError, Unavailable
from posthouse.gateway_lifecycle import gateway_lock
from posthouse.server.member import Member
from posthouse.support import untrusted_files
from posthouse.support.tracing import NO_TRACING, Tracing

#: A gateway whose health check takes longer hangs: it answers from memory, in milliseconds.
HEALTH_SECONDS = 2.0
#: The check of a gateway that hangs goes on for so long. Until then callers get the same answer without
#: waiting, and a gateway that answers is used again at once.
_HUNG_SECONDS = 30.0
#: For what a gateway answers from what it knows; a prompt may have to wait for its agent's screen.
ASK_SECONDS = 30.0
_HEALTHY = {"protocol_version": names.PROTOCOL_VERSION, "status": "ok"}
_NO_FIELDS: Mapping[str, str] = {}
#: Agents that came and went are forgotten in the end.
_MAX_KNOWN = 4096


class NoLiveGateway(Unavailable):
    """The agent has no gateway that could be asked; the message says why, and what to do."""

    code = "no_live_gateway"


class GatewayHangs(NoLiveGateway):
    """Its process is there and does not answer; it may go on with what it accepted."""

    code = "gateway_hangs"


class GatewayLost(Unavailable):
    """The gateway ended, or fell silent, before it answered. What was asked may have been done."""

    code = "gateway_lost"


class GatewayGarbled(PosthouseError):
    """Something answered that is no gateway of ours. What was asked may have been done."""

    code = "gateway_garbled"


class LiveGateway:
    """One gateway process, for as long as it answers."""

    def __init__(self, member: Member, instance: gf.CurrentInstance, tracing: Tracing = NO_TRACING) -> None:
        self.instance = instance
        #: Somebody got no answer; it has to be looked for again.
        self.has_failed = False
        self._member = member
        self._tracing = tracing
        # 0.0.0.0 is where it listens, not where it can be reached.
        self._connections = Connections("127.0.0.1", instance.port)
        #: The health check under way, shared by all callers.
        self._checking: asyncio.Task[str | None] | None = None
        self._is_hung = False

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        query: Mapping[str, str] | str | None = None,
        headers: Mapping[str, str] = _NO_FIELDS,
        seconds: float = ASK_SECONDS,
    ) -> Answer:
        """Its answer, whatever it is. *path* is as it goes over the wire; *body* is JSON.

        Raises:
            GatewayLost: It ended or fell silent.
            GatewayGarbled: What answers there does not speak HTTP.
        """
        told = query if isinstance(query, str) else urllib.parse.urlencode(query or {})
        target = f"{path}?{told}" if told else path
        kind = {} if body is None else {"content-type": "application/json"}
        with self._tracing.calling(f"{method} gateway") as span:
            span.note("posthouse.agent.id", self._member.tracked_agent_id)
            span.note("url.path", path)
            sent = {**kind, **headers, **self._tracing.passed_on()}
            answer = await self._asked(method, target, sent, body, seconds)
            span.note("http.response.status_code", answer.status)
            return answer

    async def _asked(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Answer:
        try:
            return await self._connections.ask(method, target, headers=headers, body=body, seconds=seconds)
        except TimeoutError as error:
            self.has_failed = True
            raise GatewayLost(f"{self} did not answer within {seconds:g} s; {_MAYBE_DONE}") from error
        except OSError as error:
            self.has_failed = True
            raise GatewayLost(
                f"{self} ended before it answered ({error.strerror or error}); {_MAYBE_DONE}"
            ) from error
        except BadAnswer as error:
            self.has_failed = True
            raise GatewayGarbled(
                f"what listens as {self} is no gateway of ours ({error}); {again(self._member)}"
            ) from error

    async def check(self) -> None:
        """Return when it can be used. Callers that come while a check is under way share it.

        One caller waits up to `HEALTH_SECONDS` for a gateway that hangs; later ones don't wait until the
        check has ended.

        Raises:
            GatewayHangs: It did not answer in time; nothing was asked of it.
            NoLiveGateway: It ended, or is no healthy gateway of this version.
        """
        if self._checking is None or self._checking.done():
            self._is_hung = False
            self._checking = asyncio.create_task(self._check())
        checking = self._checking
        if not self._is_hung:
            await asyncio.wait({checking}, timeout=HEALTH_SECONDS)
        if not checking.done():
            self._is_hung = True
            told = f"{self} hangs: it did not answer its health check within {HEALTH_SECONDS:g} s"
            raise GatewayHangs(f"{told}; {_resume(self._member)}")
        if (problem := checking.result()) is not None:
            raise NoLiveGateway(problem)

    def close(self) -> None:
        """Let go of its connections; answers that are under way still come."""
        self._connections.close()

    async def _check(self) -> str | None:
        try:
            answer = await self._asked("GET", "/health", _NO_FIELDS, None, _HUNG_SECONDS)
        except GatewayLost as error:
            # Nothing was asked that could have been done.
            return f"{str(error).removesuffix(_MAYBE_DONE)}{again(self._member)}"
        except GatewayGarbled as error:
            return str(error)
        if (problem := _unhealthy(answer)) is not None:
            self.has_failed = True
            return f"{self} {problem}; {again(self._member)}"
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
            GatewayHangs: It has one, which does not answer: nobody else may give the agent work meanwhile.
        """
        try:
            return await self.needed(member)
        except GatewayHangs:
            raise
        except NoLiveGateway:
            return None

    async def needed(self, member: Member) -> LiveGateway:
        """The agent's gateway.

        Raises:
            NoLiveGateway: It has none that answers; `GatewayHangs` when there is one all the same.
        """
        agent_id = member.tracked_agent_id
        try:
            instance = await asyncio.to_thread(_recorded, member)
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


_MAYBE_DONE = "what was asked may have been done: look before you ask again"


def command(member: Member, verb: str) -> str:
    """The command that does *verb* to the agent's gateway, on the machine that it lives on."""
    return f"`posthouse agents single --agent-id {member.record.agent_id} gateway {verb}`"


def again(member: Member) -> str:
    return f"start it again with {command(member, 'detach')} and {command(member, 'attach')}"


def _resume(member: Member) -> str:
    return f"if its process is stopped, continue it (SIGCONT); otherwise {again(member)}"


def root_of(member: Member) -> Path:
    """The agent's gateway folder."""
    return Path(member.record.runtime.manifest_path).parent / "gateway"


def _recorded(member: Member) -> gf.CurrentInstance:
    """The process that the gateway's folder names, if it holds that folder. Reads files.

    Raises:
        NoLiveGateway: It names none, or one that is gone or of another version.
    """
    name, root = member.record.agent_name, root_of(member)
    try:
        content = untrusted_files.read_own_bytes(root / gf.CURRENT_INSTANCE)
        instance = strict.decode(content, gf.CurrentInstance)
    except (FileNotFoundError, NotADirectoryError):
        raise NoLiveGateway(f"{name!r} has no gateway; start one with {command(member, 'attach')}") from None
    except OSError as error:
        raise NoLiveGateway(f"the gateway folder of {name!r} can't be read: {error}") from error
    except ValueError as error:
        raise NoLiveGateway(
            f"the gateway of {name!r} is of another version: {root / gf.CURRENT_INSTANCE}: {error}; "
            f"{again(member)}"
        ) from error
    if gateway_lock.holder_of(root) != instance.pid:
        raise NoLiveGateway(
            f"the gateway of {name!r} has died (process {instance.pid} is gone); "
            f"start it again with {command(member, 'attach')}"
        )
    return instance


def _unhealthy(answer: Answer) -> str | None:
    """What is wrong with an answer to `GET /health`, or None."""
    try:
        said = strict.parse(answer.body)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return f"answered {answer.status} with something that is not a gateway's"
    if answer.status != 200:
        return f"is not healthy: {said.get('detail', answer.status)}"
    if said.get("protocol_version") != names.PROTOCOL_VERSION:
        return f"speaks protocol {said.get('protocol_version')!r}, and this server {names.PROTOCOL_VERSION!r}"
    return None if said == _HEALTHY else f"says of itself {said.get('status')!r}"
