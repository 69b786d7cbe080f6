"""The text format, read back by the parser of Prometheus' own client."""

import importlib
import json
import urllib.request
from pathlib import Path

from posthouse.events.journal import Journal
from posthouse.gateway.metrics.meter import EventMeter
from posthouse.testing.gateway import FakeAgent
from posthouse.testing.running_gateways import serving
from posthouse.testing.waiting import LIMIT_SECONDS
from posthouse.web.exposition import Family, Histogram, Sample, render


def parsed(text: str) -> dict[str, list[tuple[str, dict[str, str], float]]]:
    # By name: types are checked also where only the unit tests' needs are installed.
    parser = importlib.import_module("prometheus_client.parser")
    return {
        family.name: [(one.name, one.labels, one.value) for one in family.samples]
        for family in parser.text_string_to_metric_families(text)
    }


def test_labels_hold_any_text() -> None:
    """Quotes, backslashes and newlines come back as they went in."""
    odd = 'a "b" \\ c\nd'
    family = Family(name="x", kind="gauge", help="X.", samples=[Sample(value=1.5, labels={"l": odd})])

    assert parsed(render([family])) == {"x": [("x", {"l": odd}, 1.5)]}


def test_a_histogram_counts_what_lies_below_each_bound() -> None:
    """Buckets add up, and the last one has them all."""
    histogram = Histogram((1, 10))
    for value in (0.5, 1, 5, 50):
        histogram.observe(value)
    family = Family(name="x", kind="histogram", help="X.", samples=histogram.samples())

    assert parsed(render([family])) == {
        "x": [
            ("x_bucket", {"le": "1"}, 2),
            ("x_bucket", {"le": "10"}, 3),
            ("x_bucket", {"le": "+Inf"}, 4),
            ("x_sum", {}, 56.5),
            ("x_count", {}, 4),
        ]
    }


def test_a_family_without_numbers_is_left_out() -> None:
    """A name alone says nothing."""
    assert render([Family(name="x", kind="gauge", help="X.", samples=[])]) == ""


def test_the_meter_counts_what_is_told(tmp_path: Path) -> None:
    """Kinds, stages, and how long prompts took from their start to their end."""
    journal = Journal(tmp_path / "events.jsonl")
    now = [100.0]
    meter = EventMeter(journal, now=lambda: now[0])
    for stage in ("accepted", "started", "completed"):
        journal.add("request_stage", request_id="r", stage=stage)
        now[0] += 3
    journal.add("request_stage", request_id="unseen", stage="failed")
    journal.close()

    found = parsed(render(meter.families()))

    assert found["posthouse_events"] == [("posthouse_events_total", {"kind": "request_stage"}, 4)]
    assert found["posthouse_request_stages"] == [
        ("posthouse_request_stages_total", {"stage": stage}, 1)
        for stage in ("accepted", "completed", "failed", "started")
    ]
    durations = found["posthouse_turn_duration_seconds"]
    assert durations[-2:] == [
        ("posthouse_turn_duration_seconds_sum", {}, 3),
        ("posthouse_turn_duration_seconds_count", {}, 1),
    ]
    assert json.dumps(durations).count("_bucket") == 13


def test_a_gateway_serves_its_numbers(tmp_path: Path) -> None:
    """Every family is understood, and what is known of a fresh gateway is right."""

    def agent() -> FakeAgent:
        made = FakeAgent()
        made.appear()
        return made

    with serving(tmp_path, agent) as served:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{served.port}/metrics", timeout=LIMIT_SECONDS) as answer:
            kind, text = answer.headers["content-type"], answer.read().decode()

    found = parsed(text)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert found["posthouse_queue_depth"] == [("posthouse_queue_depth", {}, 0)]
    assert found["posthouse_accepting_requests"] == [
        ("posthouse_accepting_requests", {"admission": "open"}, 1)
    ]
    assert found["process_resident_memory_bytes"][0][2] > 1 << 20
