"""What the server's OpenAPI document allows and what it forbids, sent to a server that listens."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from posthouse.server.http import openapi
from posthouse.server.http.routes import ROUTES
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.server_with_gateways import Fronted, fronted

if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

DOCUMENT = openapi.document()
#: The first would end the server, the second the test: it would end the process that holds the gateway.
_DEADLY = ("/houmao/server/shutdown", "/houmao/agents/{agent_ref}/stop")
OPERATIONS = {
    f"{method.upper()} {path}": (operation, method, path)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if path not in _DEADLY
}
#: Those that can be asked wrongly, where the server itself says no: a gateway is tried by its own tests.
TAKING = {
    f"{route.method} {route.path}": OPERATIONS[f"{route.method} {route.path}"]
    for route in ROUTES
    if (route.request is not None or route.query is not None) and not route.forwards_raw
}
#: Said before anybody looks at what was asked.
TOO_LONG = 414
#: The same examples every time; more of them are a matter of changing this number.
FEW = settings(
    max_examples=4,
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


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fronted]:
    """A server in front of a TUI's gateway, which has mail."""

    def agent() -> FakeAgent:
        made = FakeAgent(is_headless=False)
        made.appear()
        return made

    with fronted(tmp_path_factory.mktemp("fuzzed"), agent) as made:
        yield made


def test_the_document_is_valid(schema: "BaseSchema") -> None:
    """It is OpenAPI, by OpenAPI's own schema."""
    schema.validate()


@pytest.mark.parametrize(("_", "method", "path"), OPERATIONS.values(), ids=OPERATIONS.keys())
def test_what_is_valid_gets_a_documented_answer(
    schema: "BaseSchema", house: Fronted, _: object, method: str, path: str
) -> None:
    """Status, type, headers and body are as documented."""
    from schemathesis import GenerationMode

    _try(schema[path][method].as_strategy(generation_mode=GenerationMode.POSITIVE), house)


@pytest.mark.parametrize(("_", "method", "path"), TAKING.values(), ids=TAKING.keys())
def test_what_is_not_valid_is_refused_as_documented(
    schema: "BaseSchema", house: Fronted, _: object, method: str, path: str
) -> None:
    """Nothing that the document forbids is taken."""
    from schemathesis import GenerationMode

    _try(schema[path][method].as_strategy(generation_mode=GenerationMode.NEGATIVE), house)


def _try(cases: "st.SearchStrategy[Case[Any]]", house: Fronted) -> None:
    from requests import Session
    from schemathesis import checks

    wanted = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]

    @FEW
    @given(case=cases, is_known=st.booleans())
    def story(case: "Case[Any]", is_known: bool) -> None:
        if is_known and "agent_ref" in case.path_parameters:
            case.path_parameters["agent_ref"] = "gpu"
        if case.path == "/houmao/events" and case.query.get("follow", "true") in ("true", True):
            case.query["follow"] = "false"  # the answer ends
        answer = case.call(house.server.base_url, session=caller)
        if answer.status_code != TOO_LONG:
            case.validate_response(answer, checks=wanted)

    with Session() as caller:
        caller.trust_env = False  # no proxy
        story()
