"""The client asks for everything that the server answers."""

from collections.abc import Callable
from typing import Any

from posthouse.clients.server import async_gateway, endpoints
from posthouse.server.http.routes import ROUTES

#: For people with a browser, and a stream that has a test of its own.
_FOR_OTHERS = {("GET", "/openapi.json"), ("GET", "/docs"), ("GET", "/houmao/events")}

_OF_AGENTS: list[Any] = [
    *(endpoints.health(), endpoints.ready(), endpoints.metrics()),
    *(endpoints.current_instance(), endpoints.shutdown()),
    *(endpoints.agents(), endpoints.launch_headless({})),
    *(ask("REF") for ask in (endpoints.agent, endpoints.state, endpoints.state_detail, endpoints.history)),
    *(ask("REF") for ask in (endpoints.managed_state, endpoints.managed_state_detail)),
    *(endpoints.managed_history("REF"), endpoints.stop("REF"), endpoints.interrupt_turn("REF")),
    *(endpoints.prompt("REF", "p"), endpoints.submit_turn("REF", "p")),
    *(endpoints.turn("REF", "TURN"), endpoints.turn_events("REF", "TURN")),
    *(endpoints.turn_artifact("REF", "TURN", "stdout"), endpoints.turn_artifact("REF", "TURN", "stderr")),
]
_OF_GATEWAYS: list[Callable[[Any], Any]] = [
    *(lambda g: g.status(), lambda g: g.attach(), lambda g: g.detach()),
    *(lambda g: g.submit_prompt("p"), lambda g: g.receipt("REQUEST"), lambda g: g.control_prompt("p")),
    *(lambda g: g.send_keys("k"), lambda g: g.headless_state(), lambda g: g.start_new_chat_next()),
    *(lambda g: g.tui_state(), lambda g: g.tui_history(), lambda g: g.note_prompt("p")),
    *(lambda g: g.notifier(), lambda g: g.put_notifier({}), lambda g: g.delete_notifier()),
    *(lambda g: g.reminders(), lambda g: g.create_reminders({}), lambda g: g.reminder("REMINDER")),
    *(lambda g: g.put_reminder("REMINDER", {}), lambda g: g.delete_reminder("REMINDER")),
    *(lambda g: g.receipts(), lambda g: g.cancel("REQUEST"), lambda g: g.reconcile("replay")),
    *(lambda g: g.tui_belief(), lambda g: g.answer("1"), lambda g: g.limit(), lambda g: g.resume_limit()),
    *(lambda g: g.answer_rules(), lambda g: g.set_answer_rules([])),
    *(lambda g: g.wake_settings(), lambda g: g.put_wake_settings({})),
    *(lambda g: g.mail("status"), lambda g: g.mail("resolve-live")),
    *((lambda g, verb=verb: g.mail(verb, {})) for verb in ("list", "peek", "read", "send", "post")),
    *((lambda g, verb=verb: g.mail(verb, {})) for verb in ("reply", "mark", "move", "archive")),
    *((lambda g, verb=verb: g.mail(verb, {})) for verb in ("thread", "search", "progress")),
]
_NAMES = {"agent_ref": "REF", "turn_id": "TURN", "request_id": "REQUEST", "reminder_id": "REMINDER"}


def test_every_route_has_a_method() -> None:
    """Neither side has one that the other does not know."""
    spoken = async_gateway.RequestRecorder("REF")
    asked = [*_OF_AGENTS, *(ask(spoken) for ask in _OF_GATEWAYS)]

    ours = {(question.method, question.path.partition("?")[0]) for question in asked}
    theirs = {(route.method, route.path.format(**_NAMES)) for route in ROUTES} - _FOR_OTHERS
    assert ours == theirs
