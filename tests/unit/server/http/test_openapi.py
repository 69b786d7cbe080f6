"""The OpenAPI document of the server."""

import json
from collections import Counter
from pathlib import Path

from posthouse.server.http import openapi

COMMITTED = Path(__file__).parents[4] / "docs" / "openapi" / "server.json"
AGENT = "/houmao/agents/{agent_ref}"
#: Every route by which a published client reaches a gateway or a mailbox through the server.
CONTRACT = {
    f"{method} {AGENT}/{place}"
    for methods, place in (
        ("GET", "gateway"),
        ("POST", "gateway/attach"),
        ("POST", "gateway/detach"),
        ("POST", "gateway/control/prompt"),
        ("POST", "gateway/control/send-keys"),
        ("GET", "gateway/control/headless/state"),
        ("POST", "gateway/control/headless/next-prompt-session"),
        ("GET", "gateway/tui/state"),
        ("GET", "gateway/tui/history"),
        ("POST", "gateway/tui/note-prompt"),
        ("POST", "gateway/requests"),
        ("GET PUT DELETE", "gateway/mail-notifier"),
        ("GET POST", "gateway/reminders"),
        ("GET PUT DELETE", "gateway/reminders/{reminder_id}"),
        ("GET", "mail/status"),
        ("GET", "mail/resolve-live"),
        *(
            ("POST", f"mail/{verb}")
            for verb in ("list", "peek", "read", "send", "post", "reply", "mark", "move", "archive")
        ),
    )
    for method in methods.split()
}


def test_the_committed_document_is_the_one_the_routes_make() -> None:
    """A change of the contract shows in review; CONTRIBUTING says how it is renewed."""
    assert COMMITTED.read_text(encoding="utf-8") == openapi.render()


def test_every_gateway_and_mail_route_of_the_contract_is_there() -> None:
    """A client written for the published API finds each under its path and method."""
    paths = openapi.document()["paths"]
    there = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}

    assert there >= CONTRACT


def test_what_goes_on_to_a_gateway_may_find_none() -> None:
    """Each proxied route documents an unknown agent, a gateway that is none, and one that is not there."""
    paths = openapi.document()["paths"]
    proxied = CONTRACT - {
        f"GET {AGENT}/gateway",
        f"POST {AGENT}/gateway/attach",
        f"POST {AGENT}/gateway/detach",
    }

    lacking = {
        route
        for route in proxied - {f"GET {AGENT}/mail/resolve-live"}
        if not {"404", "409", "502", "503"}
        <= paths[route.split()[1]][route.split()[0].lower()]["responses"].keys()
    }
    assert lacking == set()


def test_names_are_given_once_and_lead_somewhere() -> None:
    """No two operations share a name, and every reference has its schema."""
    document = openapi.document()
    names = Counter(one["operationId"] for path in document["paths"].values() for one in path.values())
    wanted = {part.partition('"')[0] for part in json.dumps(document).split("#/components/schemas/")[1:]}

    assert [name for name, count in names.items() if count > 1] == []
    assert wanted <= document["components"]["schemas"].keys()
