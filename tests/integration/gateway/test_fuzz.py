"""What the OpenAPI document allows and what it forbids, sent to a gateway that listens."""

import re
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from posthouse.clients.gateway import GatewayClient
from posthouse.contracts import gateway_files as gf
from posthouse.gateway.http import openapi
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import Served, serving
from posthouse.testing.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

DOCUMENT = openapi.document()
OPERATIONS = {
    f"{method.upper()} {path}": (operation, method, path)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
#: Those that can be asked wrongly: any text is a name in a path.
TAKING = {
    name: one
    for name, one in OPERATIONS.items()
    if "requestBody" in one[0] or any(given["in"] == "query" for given in one[0].get("parameters", []))
}
#: Every status that is documented, and those of paths and methods that are not.
ANSWERS = {int(status) for one in OPERATIONS.values() for status in one[0]["responses"]} | {100, 404, 405}
REMINDER = {
    "mode": "one_off",
    "title": "Later",
    "prompt": "Look again.",
    "ranking": 0,
    "start_after_seconds": 86400,
}
#: The same examples every time; more of them are a matter of changing this number.
FEW = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def schema() -> "BaseSchema":
    """The document as schemathesis reads it. Imported here: other tests need not wait for it."""
    import schemathesis

    return schemathesis.openapi.from_dict(DOCUMENT)


@pytest.fixture(scope="module", params=["headless", "TUI"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway around an agent of each kind, which must have failed at nothing in the end."""
    with serving(tmp_path_factory.mktemp("fuzzed"), _agent(request.param)) as served:
        yield served
    assert "Traceback" not in (served.root / gf.LOG).read_text()


def _agent(kind: str) -> Callable[[], FakeAgent]:
    def made() -> FakeAgent:
        agent = FakeAgent(is_headless=kind == "headless")
        agent.appear()
        return agent

    return made


def test_the_document_is_valid(schema: "BaseSchema") -> None:
    """It is OpenAPI, by OpenAPI's own schema."""
    schema.validate()


@pytest.mark.parametrize(("_", "method", "path"), OPERATIONS.values(), ids=OPERATIONS.keys())
def test_what_is_valid_gets_a_documented_answer(
    schema: "BaseSchema", served: Served, _: object, method: str, path: str
) -> None:
    """Status, type, headers and body are as documented."""
    from schemathesis import GenerationMode

    _try(schema[path][method].as_strategy(generation_mode=GenerationMode.POSITIVE), served)


@pytest.mark.parametrize(("_", "method", "path"), TAKING.values(), ids=TAKING.keys())
def test_what_is_not_valid_is_refused_as_documented(
    schema: "BaseSchema", served: Served, _: object, method: str, path: str
) -> None:
    """Nothing that the document forbids is taken."""
    from schemathesis import GenerationMode

    _try(schema[path][method].as_strategy(generation_mode=GenerationMode.NEGATIVE), served)


def _try(cases: "st.SearchStrategy[Case[Any]]", served: Served) -> None:
    from requests import Session
    from schemathesis import checks

    wanted = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]
    known = GatewayClient("127.0.0.1", served.port).create_reminders(REMINDER)["reminders"][-1]["reminder_id"]

    @FEW
    @given(case=cases, is_known=st.booleans())
    def story(case: "Case[Any]", is_known: bool) -> None:
        if is_known and "reminder_id" in case.path_parameters:
            case.path_parameters["reminder_id"] = known
        if case.path == "/v1/events" and case.query.get("follow", "true") in ("true", True):
            case.query["follow"] = "false"  # the answer ends
        case.call_and_validate(f"http://127.0.0.1:{served.port}", session=caller, checks=wanted)

    with Session() as caller:
        caller.trust_env = False  # no proxy
        story()


WELL_FORMED = [
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"POST /v1/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b'Content-Length: 33\r\n\r\n{"kind":"interrupt","payload":{}}',
    b"POST /v1/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'21\r\n{"kind":"interrupt","payload":{}}\r\n0\r\nX-A: a\r\n\r\n',
]
PIECES = [
    *(bytes([byte]) for byte in b"\r\n\0 \t:;,%/\xff0"),
    b"\r\n\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
    b"Expect: 100-continue\r\n",
    b"Host: evil.example\r\n",
]


@settings(FEW, max_examples=300)
@given(
    requests=st.lists(st.sampled_from(WELL_FORMED), min_size=1, max_size=3),
    cuts=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(PIECES)), max_size=4),
    pause=st.floats(0, 1),
)
def test_a_mangled_request_does_no_harm(
    served: Served, requests: list[bytes], cuts: list[tuple[float, int, bytes]], pause: float
) -> None:
    """It is answered in HTTP, by a documented status, or not at all; and the gateway goes on."""
    sent = b"".join(requests)
    for place, length, piece in cuts:
        at = int(place * len(sent))
        sent = sent[:at] + piece + sent[at + length :]

    heard = _exchange(served, sent, int(pause * len(sent)))

    statuses = {int(line) for line in re.findall(rb"HTTP/1\.1 (\d+) ", heard)}
    assert not heard or heard.startswith(b"HTTP/1.1 ")
    assert statuses <= ANSWERS
    assert GatewayClient("127.0.0.1", served.port).health() == {"protocol_version": "v1", "status": "ok"}


def _exchange(served: Served, sent: bytes, pause: int) -> bytes:
    """What comes back for *sent*, in two parts, from a peer that has nothing more to say."""
    heard = b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=LIMIT_SECONDS) as peer:
        try:
            peer.sendall(sent[:pause])
            peer.sendall(sent[pause:])
            peer.shutdown(socket.SHUT_WR)
            while part := peer.recv(65536):
                heard += part
        except ConnectionError:
            return heard  # it was hung up on
    return heard
