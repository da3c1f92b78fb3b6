"""Reports whose content costs memory or work: the memory that is counted for them, and the work that they cause."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from rebalance_agent.polls.member_events import parse_report
from rebalance_agent.tracking.evidence.kept_reports import KeptReports, ReportBudget, report_bytes
from support.tracker.tracking import T0

WHERE = ("pod", "node", "workload", "image")


def _line(number, **fields):
    """The bytes of a report as it is in the topic."""
    report = {
        "kind": "member",
        "schema_version": 1,
        "event_id": f"e{number:032}",
        "group": "g",
        "timestamp_ms": T0 + number,
        "callback": "assigned",
        "client_id": "client",
        "member_id": f"m{number:036}",
        "generation": 1,
        "started_ms": T0,
        "partitions": {"t": "0-9"},
        "process": f"{number:032}",
        "sequence": number,
    }
    return json.dumps(report | fields).encode()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"where": dict.fromkeys(WHERE, "w" * 1_024)},
        {"where": dict.fromkeys(WHERE, "\U0001f600" * 1_024)},
        {"where": dict.fromkeys(WHERE, "w" * 1_023 + "\U0001f600")},
        {"error": "\U0001f600" * 5_000, "reason": "r" * 5_000},
        {"cluster_id": "c" * 5_000, "host": "h" * 5_000, "instance_id": "i" * 5_000},
        {"partitions": {f"{'t' * 200}{topic}": "0-3" for topic in range(100)}},
        {"partitions": {f"{topic:x}": "" for topic in range(1_000)}},
        {"partitions": {"t": ",".join(map(str, range(0, 4_000, 2)))}},
    ],
)
def test_the_counted_memory_of_reports_is_at_least_half_and_at_most_twice_the_true_one(fields):
    lines = [_line(number, **fields) for number in range(50)]
    parse_report(lines[0])
    kept, counted = KeptReports(ReportBudget(10**9)), 0
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for line in lines:
            event = parse_report(line)
            assert kept.add(event, stranger=False)
            counted += report_bytes(event)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counted / 2 < after - before < counted * 2
