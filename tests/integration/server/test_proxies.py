"""What an agent's gateway says, heard through the server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.contracts.external_agents import ExternalRecord
from posthouse.sessions.externals import ExternalAgents
from posthouse.testing import server as server_module
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import session_in
from posthouse.testing.server import Answer
from posthouse.testing.server_with_gateways import Fronted, agents_in, fronted, register
from posthouse.testing.waiting import wait_for

PROMPT = {"schema_version": 1, "kind": "submit_prompt", "payload": {"prompt": "Look."}}
REMINDER = {
    "mode": "one_off",
    "title": "Later",
    "prompt": "Look again.",
    "ranking": 0,
    "start_after_seconds": 86400,
}
#: Asked twice these say the same: method, below the agent, at the gateway, body.
SAME_EACH_TIME: list[tuple[str, str, str, object]] = [
    ("GET", "gateway", "/v1/status", None),
    ("GET", "gateway/control/headless/state", "/v1/control/headless/state", None),
    ("GET", "gateway/tui/state", "/v1/control/tui/state", None),
    ("GET", "gateway/tui/history?limit=0", "/v1/control/tui/history?limit=0", None),
    ("GET", "gateway/tui/history?limit=many", "/v1/control/tui/history?limit=many", None),
    ("POST", "gateway/tui/note-prompt", "/v1/control/tui/note-prompt", {"prompt": "x"}),
    ("POST", "gateway/control/prompt", "/v1/control/prompt", {"schema_version": 1, "prompt": " "}),
    ("POST", "gateway/control/send-keys", "/v1/control/send-keys", {"sequence": "x"}),
    ("POST", "gateway/control/headless/next-prompt-session", "/v1/control/headless/next-prompt-session", {}),
    ("POST", "gateway/requests", "/v1/requests", {"kind": "other"}),
    ("GET", "gateway/requests/nothing", "/v1/requests/nothing", None),
    ("GET", "gateway/mail-notifier", "/v1/mail-notifier", None),
    ("PUT", "gateway/mail-notifier", "/v1/mail-notifier", {"interval_seconds": 0}),
    ("DELETE", "gateway/mail-notifier", "/v1/mail-notifier", None),
    ("GET", "gateway/reminders", "/v1/reminders", None),
    ("POST", "gateway/reminders", "/v1/reminders", {"reminders": []}),
    ("GET", "gateway/reminders/a%20b%3F", "/v1/reminders/a%20b%3F", None),
    ("PUT", "gateway/reminders/none", "/v1/reminders/none", {"schema_version": 1, **REMINDER}),
    ("DELETE", "gateway/reminders/none", "/v1/reminders/none", None),
    ("GET", "gateway/requests?limit=5", "/v1/requests?limit=5", None),
    ("DELETE", "gateway/requests/nothing", "/v1/requests/nothing", None),
    ("POST", "gateway/reconciliation", "/v1/reconciliation", {"decision": "discard"}),
    ("GET", "gateway/tui/belief", "/v1/control/tui/belief", None),
    ("POST", "gateway/tui/answer", "/v1/control/tui/answer", {"choice": "x"}),
    ("GET", "gateway/tui/answer-rules", "/v1/control/tui/answer-rules", None),
    ("PUT", "gateway/tui/answer-rules", "/v1/control/tui/answer-rules", {"rules": []}),
    ("GET", "gateway/tui/limit", "/v1/control/tui/limit", None),
    ("POST", "gateway/tui/limit/resume", "/v1/control/tui/limit/resume", None),
    ("GET", "gateway/mail-notifier/wake", "/v1/mail-notifier/wake", None),
    ("PUT", "gateway/mail-notifier/wake", "/v1/mail-notifier/wake", {"schema_version": 1}),
    ("GET", "mail/status", "/v1/mail/status", None),
    *(
        ("POST", f"mail/{verb}", f"/v1/mail/{verb}", body)
        for verb, body in (
            ("list", {"schema_version": 1}),
            ("peek", {"schema_version": 1, "message_ref": "filesystem:none"}),
            ("read", {"schema_version": 1, "message_ref": "filesystem:none"}),
            ("send", {"schema_version": 1, "to": []}),
            ("post", {}),
            ("reply", {"schema_version": 1, "message_ref": "filesystem:none", "body_content": "x"}),
            ("mark", {"schema_version": 1, "message_refs": []}),
            ("move", {"schema_version": 1, "message_refs": ["filesystem:none"], "destination_box": "x"}),
            ("archive", {"schema_version": 1, "message_refs": ["filesystem:none"]}),
            ("thread", {"schema_version": 1, "message_ref": "filesystem:none"}),
            ("search", {"schema_version": 1, "query": "word"}),
            ("progress", {"schema_version": 1, "message_ref": "filesystem:none"}),
        )
    ),
]


def appeared() -> FakeAgent:
    agent = FakeAgent()
    agent.appear()
    return agent


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fronted]:
    """One server in front of one gateway, for all that changes nothing."""
    with fronted(tmp_path_factory.mktemp("fronted"), appeared) as made:
        yield made


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fronted]:
    """Another, for what has consequences."""
    with fronted(tmp_path_factory.mktemp("working"), appeared) as made:
        yield made


def directly(house: Fronted, method: str, path: str, body: object) -> Answer:
    instance = json.loads((house.session.gateway_root / gf.CURRENT_INSTANCE).read_bytes())
    return server_module.ask(f"http://127.0.0.1:{instance['port']}", method, path, body)


def until_free(house: Fronted) -> None:
    """Wait until a direct prompt would be taken: what is told as completed holds the slot a moment longer."""
    path = house.at("gateway/control/headless/state")
    wait_for(lambda: house.server.get(path).json["can_accept_prompt_now"] is True)


@pytest.mark.parametrize(("method", "place", "path", "body"), SAME_EACH_TIME, ids=lambda one: str(one)[:40])
def test_status_and_body_are_the_gateways_own(
    house: Fronted, method: str, place: str, path: str, body: object
) -> None:
    """Byte for byte, successes and refusals."""
    asked: list[Answer] = []

    def is_settled() -> bool:
        """Whether the gateway says before and after what it said through the server."""
        asked[:] = [
            directly(house, method, path, body),
            house.server.ask(method, house.at(place), body),
            directly(house, method, path, body),
        ]
        return asked[0].body == asked[2].body

    wait_for(is_settled)

    wanted, heard, _ = asked
    assert (heard.status, heard.body) == (wanted.status, wanted.body)
    assert heard.headers["content-type"] == wanted.headers["content-type"]


def test_a_request_is_queued_once_and_its_receipt_is_found_by_its_location(working: Fronted) -> None:
    """The idempotency key reaches the gateway, and the address in the answer is one of the server's."""
    key = {"Idempotency-Key": "one"}
    first = working.server.post(working.at("gateway/requests"), PROMPT, key)
    second = working.server.post(working.at("gateway/requests"), PROMPT, key)
    location = first.headers["location"]
    receipt = working.server.get(f"{location}?wait=60")

    assert (first.status, second.status) == (202, 202)
    assert second.body == first.body
    assert location == working.at(f"gateway/requests/{first.json['request_id']}")
    assert (receipt.status, receipt.json["state"]) == (200, "completed")


def test_what_is_queued_on_another_machine_is_told_of_through_this_one(
    working: Fronted, tmp_path: Path
) -> None:
    """The gateway's headers come through two servers, and the address is one of the first."""
    home = agents_in(tmp_path)
    ExternalAgents(home.roots.registry).register(_far(working), None)
    with server_module.serving(home) as server:
        accepted = server.post("/houmao/agents/far/gateway/requests", PROMPT)
        receipt = server.get(f"{accepted.headers['location']}?wait=60")
        until_free(working)
        given = server.post("/houmao/agents/far/gateway/control/prompt", {"prompt": "Look."})

    assert (
        accepted.headers["location"] == f"/houmao/agents/far/gateway/requests/{accepted.json['request_id']}"
    )
    assert (receipt.status, receipt.json["state"]) == (200, "completed")
    assert (given.status, given.headers["x-posthouse-request-id"][:6]) == (200, "gwreq-")


def _far(house: Fronted) -> ExternalRecord:
    return ExternalRecord(
        local_name="far",
        external_agent_id="far-id",
        generation_id="one",
        pair_api_base_url=house.server.base_url,
        remote_agent_ref="gpu",
        created_at_utc="2026-06-05T00:00:00+00:00",
        updated_at_utc="2026-06-05T00:00:00+00:00",
        cached_identity=house.server.get("/houmao/agents/gpu").json,
    )


@pytest.mark.parametrize("version", [1, 2])
def test_a_direct_prompt_says_under_which_id_it_is_told(working: Fronted, version: int) -> None:
    """Both schemas go through, and the header of the gateway comes back."""
    order = {"schema_version": version, "prompt": "Look.", "chat_session": {"mode": "new"}}
    until_free(working)

    heard = working.server.post(working.at("gateway/control/prompt"), order)
    request_id = heard.headers["x-posthouse-request-id"]
    receipt = working.server.get(working.at(f"gateway/requests/{request_id}?wait=60"))

    assert (heard.status, heard.json["sent"]) == (200, True)
    assert (receipt.status, receipt.json["state"]) == (200, "completed")


def test_reminders_are_made_changed_and_forgotten(working: Fronted) -> None:
    """Through the server as at the gateway."""
    made = working.server.post(
        working.at("gateway/reminders"), {"schema_version": 1, "reminders": [REMINDER]}
    )
    one = working.at(f"gateway/reminders/{made.json['reminders'][-1]['reminder_id']}")
    changed = working.server.ask("PUT", one, {"schema_version": 1, **REMINDER, "title": "Sooner"})
    shown = working.server.get(one)
    gone = working.server.ask("DELETE", one)

    assert [made.status, changed.status, shown.status, gone.status] == [200, 200, 200, 200]
    assert shown.json["title"] == "Sooner"
    assert working.server.get(one).status == 404


def test_the_mailbox_and_its_gateway_are_told_by_the_server(house: Fronted) -> None:
    """With the fields of the contract and no others."""
    heard = house.server.get(house.at("mail/resolve-live"))
    told = heard.json
    root = house.agents.roots.mailbox

    assert heard.status == 200
    assert set(told) == {
        *("source", "transport", "principal_id", "address", "bindings_version", "mailbox", "gateway")
    }
    assert (told["source"], told["address"]) == ("pair_authority", "gpu@houmao.localhost")
    assert told["mailbox"]["filesystem"] == {
        "root": str(root),
        "mailbox_kind": "in_root",
        "mailbox_path": str(root / "mailboxes" / "gpu@houmao.localhost"),
        "inbox_path": str(root / "mailboxes" / "gpu@houmao.localhost" / "inbox"),
        "sqlite_path": str(root / "index.sqlite"),
        "local_sqlite_path": str(root / "mailboxes" / "gpu@houmao.localhost" / "mailbox.sqlite"),
    }
    assert told["gateway"]["source"] == "current_instance_record"
    assert told["gateway"]["state_path"] == str(house.session.gateway_root / gf.STATE)


@pytest.mark.parametrize("verb", ["attach", "detach"])
def test_attaching_is_not_done_from_afar(house: Fronted, verb: str) -> None:
    """The answer names the command that does it."""
    heard = house.server.post(house.at(f"gateway/{verb}"))

    assert heard.status == 501
    assert f"agents single --agent-id gpu-id gateway {verb}" in heard.json["detail"]


def test_without_a_gateway_only_its_status_is_told(tmp_path: Path) -> None:
    """It is offline; everything else is refused with the command that starts one, unknown agents apart."""
    agents = agents_in(tmp_path)
    register(session_in(tmp_path), agents)
    with server_module.serving(agents) as server:
        status = server.get("/houmao/agents/gpu/gateway")
        refused = [
            server.ask(method, f"/houmao/agents/gpu/{place}", body)
            for method, place, _, body in SAME_EACH_TIME
            if place != "gateway" and not place.startswith("mail/")
        ]
        unknown = server.get("/houmao/agents/nobody/gateway/tui/state")

    assert (status.status, status.json["gateway_health"], status.json["queue_depth"]) == (
        200,
        "not_attached",
        0,
    )
    assert "gateway_port" not in status.json
    assert {(one.status, one.json["detail"]) for one in refused} == {
        (
            503,
            "'gpu' has no gateway; start one with `posthouse agents single --agent-id gpu-id gateway attach`",
        )
    }
    assert unknown.status == 404


def test_an_agent_without_a_mailbox_has_no_mail_although_its_gateway_lives(tmp_path: Path) -> None:
    """The server says so before it asks the gateway, which would answer 422."""
    with fronted(tmp_path, appeared, has_mail=False) as house:
        heard = [
            house.server.ask(method, house.at(place), body)
            for method, place, _, body in SAME_EACH_TIME
            if place.startswith("mail/")
        ]
        heard.append(house.server.get(house.at("mail/resolve-live")))

    assert {one.status for one in heard} == {503}
    assert {"mailbox register" in one.json["detail"] for one in heard} == {True}
