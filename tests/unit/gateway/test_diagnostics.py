"""The diagnostic log: what it says, what it never says, how large it gets."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts.gateway_files import DiagnosticLogging
from posthouse.gateway import diagnostics
from posthouse.gateway.diagnostics import (
    DiagnosticLog,
    Diagnostics,
    NoDiagnostics,
    open_diagnostics,
    redacted,
)
from posthouse.gateway.http import diagnostics as diagnostics_http
from posthouse.support.rotation import parts


@pytest.fixture
def noted(tmp_path: Path) -> Callable[[Callable[[Diagnostics], None]], list[dict[str, Any]]]:
    """What a story leaves in the log, without times."""

    def tell(story: Callable[[Diagnostics], None]) -> list[dict[str, Any]]:
        async def told() -> None:
            log = DiagnosticLog(tmp_path / "d.log", max_bytes=1 << 20, backups=1)
            story(log)
            log.close()

        asyncio.run(told())
        entries = [json.loads(line) for line in (tmp_path / "d.log").read_text().splitlines()]
        return [{name: value for name, value in one.items() if "timestamp" not in name} for one in entries]

    return tell


def test_an_entry_has_the_contracts_frame(tmp_path: Path) -> None:
    """Version, time, level and event, and the fields of the caller."""
    log = DiagnosticLog(tmp_path / "logs" / "d.log", max_bytes=1000, backups=1)
    log.note("info", "gateway.http_completed", status_code=200)
    log.close()

    entry = json.loads((tmp_path / "logs" / "d.log").read_text())
    assert entry.pop("timestamp_utc").endswith("+00:00")
    assert entry == {
        "schema_version": 1,
        "level": "info",
        "event": "gateway.http_completed",
        "status_code": 200,
    }


@pytest.mark.parametrize(
    "name",
    ["authorization", "Body", "cookie", "credential", "env", "password", "prompt", "secret", "api_token"],
)
def test_what_is_named_like_a_secret_is_dropped_at_any_depth(name: str) -> None:
    """By name, or by the end of the name, whatever its case."""
    value = {name: "x", f"my_{name}": "x", "kept": {"inner": [{name: "x", "ok": 1}]}}

    assert redacted(value) == {"kept": {"inner": [{"ok": 1}]}}


def test_an_entry_is_of_bounded_size() -> None:
    """Nobody fills the log with one long word, one long list or one deep tree."""
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"deeper": deep}

    told = redacted({"text": "x" * 10_000, "many": list(range(1000)), "deep": deep})

    assert len(json.dumps(told)) < 1000
    assert told["deep"] == {"deeper": {"deeper": {"deeper": {"deeper": "…"}}}}


def test_a_warning_that_repeats_is_written_once_and_counted(
    noted: Callable[[Callable[[Diagnostics], None]], list[dict[str, Any]]],
) -> None:
    """Notes of the ordinary course in between change nothing; another warning ends the count."""

    def story(log: Diagnostics) -> None:
        for number in range(4):
            log.note("warning", "queue.refused", key="full", number=number)
            log.note("info", "http", number=number)
        log.note("error", "other")
        log.note("warning", "queue.refused", key="full", number=9)

    entries = noted(story)

    frame = {"schema_version": 1}
    assert [one for one in entries if one["event"] != "http"] == [
        {**frame, "level": "warning", "event": "queue.refused", "number": 0},
        {
            **frame,
            "level": "warning",
            "event": "diagnostic.dedup_summary",
            "dedup_key": "full",
            "first_event": "queue.refused",
            "suppressed_count": 3,
        },
        {**frame, "level": "error", "event": "other"},
        {**frame, "level": "warning", "event": "queue.refused", "number": 9},
    ]
    assert [one["number"] for one in entries if one["event"] == "http"] == [0, 1, 2, 3]


def test_a_count_is_written_even_if_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while, and when the gateway stops."""
    monkeypatch.setattr(diagnostics, "_SUMMARY_SECONDS", 0.01)
    path = tmp_path / "d.log"

    async def story() -> None:
        log = DiagnosticLog(path, max_bytes=1 << 20, backups=1)
        for _ in range(3):
            log.note("warning", "again")
        async with asyncio.timeout(5):
            while len(path.read_text().splitlines()) < 2:
                await asyncio.sleep(0.005)
        log.close()

    asyncio.run(story())

    last = json.loads(path.read_text().splitlines()[-1])
    assert (last["event"], last["suppressed_count"]) == ("diagnostic.dedup_summary", 2)


def test_the_log_is_bounded_as_it_was_wished(tmp_path: Path) -> None:
    """Size and number of its parts come from the wish; without one there is no file."""
    wish = DiagnosticLogging(enabled=True, max_bytes=200, backup_count=2)
    log = open_diagnostics(tmp_path, wish)
    for number in range(50):
        log.note("info", "gateway.http_completed", number=number)
    log.close()

    kept = parts(tmp_path / "logs/diagnostics/gateway-diagnostic.log")
    assert [part.suffix for part in kept] == [".2", ".1", ".log"]
    assert max(part.stat().st_size for part in kept) <= 200
    assert isinstance(open_diagnostics(tmp_path / "other", None), NoDiagnostics)
    assert isinstance(open_diagnostics(tmp_path / "other", DiagnosticLogging()), NoDiagnostics)
    assert not (tmp_path / "other").exists()


def test_warnings_of_the_running_log_are_noted_without_secrets(
    noted: Callable[[Callable[[Diagnostics], None]], list[dict[str, Any]]],
) -> None:
    """What people see in the log can be found by programs too."""

    def story(log: Diagnostics) -> None:
        logger = logging.Logger("test", level=logging.INFO)
        logger.addHandler(diagnostics_http.LogWarnings(log))
        logger.info("ordinary")
        logger.warning("state files could not be written", extra={"error": "no space", "token": "x"})
        try:
            raise ValueError("words of the agent")
        except ValueError:
            logger.exception("request failed unexpectedly")

    assert noted(story) == [
        {
            "schema_version": 1,
            "level": "warning",
            "event": "gateway.running_log_warning",
            "message": "state files could not be written",
            "exception": None,
            "fields": {"error": "no space"},
        },
        {
            "schema_version": 1,
            "level": "error",
            "event": "gateway.running_log_warning",
            "message": "request failed unexpectedly",
            "exception": "ValueError",
            "fields": {},
        },
    ]
