"""A blocking HTTP client for one gateway.

Proxy variables are ignored by default, because the gateway is on this machine.
"""

import http
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from posthouse.clients.wire_helpers import execution_override, format_detail, idempotency_header
from posthouse.errors import Conflict, Denied, InvalidInput, NotFound, PosthouseError, Unavailable
from posthouse.support import untrusted_files

if TYPE_CHECKING:
    from posthouse.clients.events import EventFeed

_JSON = {"Content-Type": "application/json"}
_NO_HEADERS: Mapping[str, str] = {}
_MAX_RESPONSE_BYTES = 8 << 20
_MAIL_GET = ("status", "resolve-live")
#: Event streams send a heartbeat every 15 s.
_SILENCE_SECONDS = 45.0
_NOT_A_GATEWAY = "the response is not JSON; check that the port is a gateway's"


class GatewayUnreachable(Unavailable):
    """No response in time. The request may have been accepted."""

    code = "gateway_unreachable"


class GatewayRefused(PosthouseError):
    """The gateway refused the request. Subclasses also belong to the error family of their status."""

    code = "gateway_refused"

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(format_detail(detail) or f"the gateway answered {status}")
        self.status = status
        #: As received: a text, an object or a list of problems.
        self.detail = detail


class GatewayInvalid(GatewayRefused, InvalidInput):
    """The request is invalid."""


class GatewayNotFound(GatewayRefused, NotFound):
    """The resource does not exist."""


class GatewayConflict(GatewayRefused, Conflict):
    """The request conflicts with the current state."""


class GatewayDenied(GatewayRefused, Denied):
    """The gateway denies access to this caller."""


class GatewayTokenRefused(GatewayDenied):
    """Remote callers need the gateway's token: it was missing or wrong."""

    code = "gateway_token_refused"


class GatewayUnavailable(GatewayRefused, Unavailable):
    """The gateway runs, but its agent or its disk is unavailable."""


_FAMILIES: Mapping[int, type[GatewayRefused]] = {
    401: GatewayTokenRefused,
    403: GatewayDenied,
    404: GatewayNotFound,
    409: GatewayConflict,
    429: GatewayUnavailable,
    503: GatewayUnavailable,
}


class GatewayClient:
    """One gateway by its published address. Opens one connection per request.

    A remote gateway requires *token*; over loopback none is needed.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_seconds: float = 15.0,
        respect_proxy: bool = False,
        token: str | None = None,
    ) -> None:
        # 0.0.0.0 is a bind address, not a destination.
        self._address = ("127.0.0.1" if host == "0.0.0.0" else host, port)
        self._timeout_seconds = timeout_seconds
        self._respect_proxy = respect_proxy
        self._authorization = {} if token is None else {"Authorization": f"Bearer {token}"}

    def health(self) -> dict[str, Any]:
        return self._request("GET", "/health")

    def status(self) -> dict[str, Any]:
        return self._request("GET", "/v1/status")

    def submit_prompt(
        self,
        prompt: str,
        *,
        turn_id: str | None = None,
        chat_session: Mapping[str, Any] | None = None,
        model: str | None = None,
        reasoning_level: int | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Queue *prompt* and return the accepted request, which is on disk when this returns.

        A second call with the same *idempotency_key* does not queue it again.

        Raises:
            GatewayRefused: Not queued; `GatewayInvalid` when the key was used with another prompt.
        """
        payload: dict[str, Any] = {"prompt": prompt}
        if turn_id is not None:
            payload["turn_id"] = turn_id
        if chat_session is not None:
            payload["chat_session"] = dict(chat_session)
        payload |= execution_override(model, reasoning_level)
        return self._submit("submit_prompt", payload, idempotency_key)

    def interrupt(self) -> dict[str, Any]:
        """Interrupt the current work; returns the accepted request."""
        return self._submit("interrupt", {})

    def receipt(
        self, request_id: str, *, wait_seconds: float = 0.0, until: str | None = None
    ) -> dict[str, Any]:
        """The receipt of a request; waits at most *wait_seconds* for its end, or for the stage *until*."""
        query = {"wait": f"{wait_seconds:g}", **({} if until is None else {"until": until})}
        path = f"{_request_path(request_id)}?{urllib.parse.urlencode(query)}"
        return self._request("GET", path, extra_seconds=wait_seconds)

    def receipts(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        since: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """A page of receipts of requests, direct prompts and reminders, newest first."""
        wanted = {"state": state, "kind": kind, "since": since, "limit": limit, "cursor": cursor}
        query = urllib.parse.urlencode({name: value for name, value in wanted.items() if value is not None})
        return self._request("GET", f"/v1/requests?{query}" if query else "/v1/requests")

    def cancel(self, request_id: str) -> dict[str, Any]:
        """Cancel a request that was not yet delivered to the agent; returns its receipt."""
        return self._request("DELETE", _request_path(request_id))

    def reconcile(self, decision: str, *, epoch: int | None = None) -> dict[str, Any]:
        """Replay or discard the queued work of a replaced agent."""
        order: dict[str, Any] = {"decision": decision}
        if epoch is not None:
            order["managed_agent_instance_epoch"] = epoch
        return self._request("POST", "/v1/reconciliation", order)

    def control_prompt(
        self,
        prompt: str,
        *,
        force: bool = False,
        chat_session: Mapping[str, Any] | None = None,
        model: str | None = None,
        reasoning_level: int | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Deliver *prompt* now, bypassing the queue; once per *idempotency_key*.

        Raises:
            GatewayRefused: It was not delivered; `detail` has the code and the reason.
        """
        body: dict[str, Any] = {"schema_version": 1, "prompt": prompt, "force": force}
        if chat_session is not None:
            body["chat_session"] = dict(chat_session)
        body |= execution_override(model, reasoning_level)
        return self._request("POST", "/v1/control/prompt", body, headers=idempotency_header(idempotency_key))

    def send_keys(self, sequence: str, *, escape_special_keys: bool = False) -> dict[str, Any]:
        """Type raw keys into the agent's terminal."""
        body = {"sequence": sequence, "escape_special_keys": escape_special_keys}
        return self._request("POST", "/v1/control/send-keys", body)

    def headless_state(self) -> dict[str, Any]:
        return self._request("GET", "/v1/control/headless/state")

    def start_new_chat_next(self) -> dict[str, Any]:
        """Start a new conversation with the next direct prompt that names none; returns the new state."""
        body = {"schema_version": 1, "mode": "new"}
        return self._request("POST", "/v1/control/headless/next-prompt-session", body)

    def tui_state(self) -> dict[str, Any]:
        return self._request("GET", "/v1/control/tui/state")

    def tui_history(self, *, limit: int = 100) -> dict[str, Any]:
        """The newest *limit* entries, oldest first; 0 returns all."""
        return self._request("GET", f"/v1/control/tui/history?limit={limit}")

    def tui_belief(self) -> dict[str, Any]:
        """The inferred state of the TUI, with all evidence."""
        return self._request("GET", "/v1/control/tui/belief")

    def answer(self, choice: str, *, dialog: str | None = None) -> dict[str, Any]:
        """Answer the open dialog; returns the pressed keys and whether the dialog closed."""
        return self._request("POST", "/v1/control/tui/answer", {"choice": choice, "dialog": dialog})

    def answer_rules(self) -> dict[str, Any]:
        """The rules for automatic answers to dialogs."""
        return self._request("GET", "/v1/control/tui/answer-rules")

    def set_answer_rules(self, rules: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Replace the rules for automatic answers to dialogs."""
        return self._request("PUT", "/v1/control/tui/answer-rules", {"rules": [dict(rule) for rule in rules]})

    def limit(self) -> dict[str, Any]:
        """Whether a usage limit pauses the queue."""
        return self._request("GET", "/v1/control/tui/limit")

    def resume_limit(self) -> dict[str, Any]:
        """Resume the queue before a usage limit ends."""
        return self._request("POST", "/v1/control/tui/limit/resume")

    def note_prompt(self, prompt: str) -> dict[str, Any]:
        """Record a prompt that the agent received by other means; returns the TUI's new state."""
        return self._request("POST", "/v1/control/tui/note-prompt", {"prompt": prompt})

    def reminders(self) -> dict[str, Any]:
        return self._request("GET", "/v1/reminders")

    def reminder(self, reminder_id: str) -> dict[str, Any]:
        return self._request("GET", _reminder_path(reminder_id))

    def create_reminders(self, *definitions: Mapping[str, Any]) -> dict[str, Any]:
        """Create all reminders, or none."""
        return self._request("POST", "/v1/reminders", {"schema_version": 1, "reminders": list(definitions)})

    def put_reminder(self, reminder_id: str, definition: Mapping[str, Any]) -> dict[str, Any]:
        """Replace the definition of a reminder."""
        return self._request("PUT", _reminder_path(reminder_id), {"schema_version": 1, **definition})

    def delete_reminder(self, reminder_id: str) -> dict[str, Any]:
        return self._request("DELETE", _reminder_path(reminder_id))

    def events(
        self, *, since: str | None = None, kinds: Sequence[str] = (), follow: bool = True
    ) -> "EventFeed":
        """The gateway's events after *since* (an id, or `start`); without it, only new ones.

        Raises:
            GatewayUnreachable: No response.
            GatewayRefused: The gateway refused.
        """
        query = {"since": since, "kinds": ",".join(kinds) or None, "follow": None if follow else "false"}
        given = {name: value for name, value in query.items() if value is not None}
        connection = http.client.HTTPConnection(*self._address, timeout=_SILENCE_SECONDS)
        try:
            connection.request(
                "GET", f"/v1/events?{urllib.parse.urlencode(given)}", headers=self._authorization
            )
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                _read(response.status, response.read(_MAX_RESPONSE_BYTES))
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        except PosthouseError:
            connection.close()
            raise
        from posthouse.clients.events import EventFeed

        return EventFeed(connection, response)

    def mail(self, verb: str, order: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One mail operation."""
        if verb in _MAIL_GET:
            return self._request("GET", f"/v1/mail/{verb}")
        return self._request("POST", f"/v1/mail/{verb}", {"schema_version": 1, **(order or {})})

    def notifier(self) -> dict[str, Any]:
        return self._request("GET", "/v1/mail-notifier")

    def put_notifier(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Enable the notifier; returns its new status."""
        return self._request("PUT", "/v1/mail-notifier", {"schema_version": 1, **settings})

    def delete_notifier(self) -> dict[str, Any]:
        """Disable the notifier; returns its new status."""
        return self._request("DELETE", "/v1/mail-notifier")

    def wake_settings(self) -> dict[str, Any]:
        return self._request("GET", "/v1/mail-notifier/wake")

    def put_wake_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Replace the settings; omitted ones get their defaults."""
        return self._request("PUT", "/v1/mail-notifier/wake", {"schema_version": 1, **settings})

    def _submit(self, kind: str, payload: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        body = {"schema_version": 1, "kind": kind, "payload": payload}
        return self._request("POST", "/v1/requests", body, headers=idempotency_header(key))

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] = _NO_HEADERS,
        extra_seconds: float = 0.0,
    ) -> dict[str, Any]:
        """Send a request and return the response; *extra_seconds* extends the timeout.

        Raises:
            GatewayUnreachable: No response.
            GatewayRefused: The gateway refused.
        """
        content = None if body is None else json.dumps(body).encode()
        try:
            exchange = self._through_proxy if self._respect_proxy else self._directly
            seconds = self._timeout_seconds + extra_seconds
            status, answer = exchange(method, path, content, self._headers(content, headers), seconds)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        return _read(status, answer)

    def _unreachable(self, error: Exception) -> GatewayUnreachable:
        host, port = self._address
        return GatewayUnreachable(
            f"the gateway at {host}:{port} does not answer: {error or type(error).__name__}"
        )

    def _directly(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], seconds: float
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(*self._address, timeout=seconds)
        try:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return response.status, response.read(_MAX_RESPONSE_BYTES)
        finally:
            connection.close()

    def _headers(self, content: bytes | None, more: Mapping[str, str]) -> dict[str, str]:
        return {**self._authorization, **(_JSON if content is not None else {}), **more}

    def _through_proxy(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], seconds: float
    ) -> tuple[int, bytes]:
        host, port = self._address
        request = urllib.request.Request(f"http://{host}:{port}{path}", content, headers, method=method)
        try:
            # `urlopen` caches the proxies of its first call for the whole process.
            opener = urllib.request.build_opener()
            with opener.open(request, timeout=seconds) as response:
                return response.status, response.read(_MAX_RESPONSE_BYTES)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read(_MAX_RESPONSE_BYTES)


def _read(status: int, answer: bytes) -> dict[str, Any]:
    try:
        decoded = untrusted_files.decode_json(answer)
    except ValueError as error:
        raise GatewayUnreachable(_NOT_A_GATEWAY) from error
    if not isinstance(decoded, dict):
        raise GatewayUnreachable(_NOT_A_GATEWAY)
    if 200 <= status < 300:
        return decoded
    family = _FAMILIES.get(status) or (GatewayInvalid if 400 <= status < 500 else GatewayUnavailable)
    raise family(status, decoded.get("detail"))


def _request_path(request_id: str) -> str:
    return f"/v1/requests/{urllib.parse.quote(request_id, safe='')}"


def _reminder_path(reminder_id: str) -> str:
    return f"/v1/reminders/{urllib.parse.quote(reminder_id, safe='')}"
