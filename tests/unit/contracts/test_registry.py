"""`record.json`: schema 3, strict, with schema 2 read as it was meant."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from posthouse.contracts import strict
from posthouse.contracts.registry import Record, upgrade

_ACTIVE: dict[str, Any] = {
    "schema_version": 3,
    "agent_name": "gpu",
    "agent_id": "0aa0be2a866411d9ff03515227454947",
    "generation_id": "g",
    "lifecycle": {
        "state": "active",
        "relaunchable": True,
        "state_updated_at": "2026-06-05T00:00:00+00:00",
        "stopped_at": None,
        "stop_reason": None,
    },
    "identity": {"backend": "codex_headless", "tool": "codex"},
    "runtime": {"manifest_path": "/s/manifest.json", "session_root": "/s", "agent_def_dir": None},
    "terminal": {"kind": "tmux", "current_session_name": "S", "last_session_name": "S"},
    "liveness": {
        "published_at": "2026-06-05T00:00:00+00:00",
        "lease_expires_at": "2026-06-06T00:00:00+00:00",
    },
    "gateway": {
        "host": "127.0.0.1",
        "port": 43123,
        "state_path": "/s/gateway/state.json",
        "protocol_version": "v1",
    },
    "mailbox": None,
}


def _with(**sections: Any) -> dict[str, Any]:
    payload = copy.deepcopy(_ACTIVE)
    for name, value in sections.items():
        payload[name] = {**payload[name], **value} if isinstance(value, dict) and payload[name] else value
    return payload


def test_an_active_record_survives_reading_and_writing() -> None:
    """Reading and writing change nothing."""
    assert strict.plain(strict.convert(_ACTIVE, Record)) == _ACTIVE


def test_freshness_is_the_lease_and_activity_is_the_state_too() -> None:
    """A record is active while its state says so and its lease has not run out."""
    record = strict.convert(_ACTIVE, Record)

    assert record.is_active(datetime(2026, 6, 5, 12, tzinfo=UTC))
    assert not record.is_active(datetime(2026, 6, 7, tzinfo=UTC))


_STOPPED = {"state": "stopped", "stopped_at": "2026-06-05T01:00:00+00:00", "stop_reason": "done"}
_ENDED_TERMINAL = {"current_session_name": None}


def test_a_stopped_record_has_no_life_left_in_it() -> None:
    """Stopped: no liveness, no gateway, no current session; the last one stays known."""
    payload = _with(lifecycle=_STOPPED, terminal=_ENDED_TERMINAL, liveness=None, gateway=None)

    assert strict.convert(payload, Record).terminal.last_session_name == "S"


@pytest.mark.parametrize(
    ("rule", "payload"),
    [
        ("unknown key", {**_ACTIVE, "extra": 1}),
        ("active without liveness", _with(liveness=None)),
        ("active without a session", _with(terminal=_ENDED_TERMINAL)),
        ("stopped with liveness", _with(lifecycle=_STOPPED, terminal=_ENDED_TERMINAL, gateway=None)),
        ("stopped without a time", _with(lifecycle={"state": "stopped"})),
        ("active with a stop time", _with(lifecycle={"stopped_at": "2026-06-05T01:00:00+00:00"})),
        ("retired and relaunchable", _with(lifecycle={**_STOPPED, "state": "retired"})),
        ("a time without a zone", _with(lifecycle={"state_updated_at": "2026-06-05T00:00:00"})),
        ("a lease that ended before it began", _with(liveness={"lease_expires_at": "2026-06-04T00:00:00Z"})),
        ("a gateway on another host", _with(gateway={"host": "10.0.0.1"})),
        ("a port as text", _with(gateway={"port": "1"})),
        ("another schema", _with(schema_version=4)),
    ],
)
def test_what_breaks_a_rule_is_refused(rule: str, payload: dict[str, Any]) -> None:
    """One broken rule makes the record unusable."""
    with pytest.raises(ValueError, match=r"."):
        strict.convert(payload, Record)


@pytest.mark.parametrize("version", [{"schema_version": 2}, {}])
def test_a_schema_2_record_is_read_as_an_active_one(version: dict[str, int]) -> None:
    """Flat liveness and one session name mean an active agent; no version means schema 2."""
    old = {
        **version,
        **{
            name: _ACTIVE[name] for name in ("agent_name", "agent_id", "generation_id", "identity", "runtime")
        },
        "terminal": {"kind": "tmux", "session_name": "S"},
        **_ACTIVE["liveness"],
        "gateway": _ACTIVE["gateway"],
    }

    assert strict.plain(strict.convert(upgrade(old), Record)) == _ACTIVE
