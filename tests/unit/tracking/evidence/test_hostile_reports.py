"""Reports whose content costs memory or work: the memory that is counted for them, and the work that they cause."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace

import pytest

from rebalance_agent.model.events import Callback
from rebalance_agent.model.partition_ranges import PartitionRanges
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.polls.member_events import parse_report
from rebalance_agent.tracking.evidence.kept_reports import KeptReports, ReportBudget, report_bytes
from rebalance_agent.tracking.evidence.member_reports import MemberReports
from support.memory import traced_memory
from support.tracker.tracking import T0, feed, listed, member, record, said, tick, topics, watch

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
        {"software": {"name": "\U0001f600" * 128, "version": "v" * 128}},
        {
            "client_metrics": {
                field.name: number + 0.5 for number, field in enumerate(dataclasses.fields(ClientMetrics))
            }
        },
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
    with traced_memory() as used:
        before, _ = used()
        for line in lines:
            event = parse_report(line)
            assert kept.add(event, stranger=False)
            counted += report_bytes(event)
        after, _ = used()
    assert counted / 2 < after - before < counted * 2


INVENTED = {f"x{number}": PartitionRanges("0-999") for number in range(100)}
SINGLE = {"t": PartitionRanges(",".join(map(str, range(0, 80_000, 2))))}
HISTORY = [
    topics(0, t=4),
    record(1_000, 0),
    record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990),
    record(30_000, 2, member("a", (0, 1, 2)), member("b", (3,)), joined=29_990),
    tick(45_000),
]


def _claims(callback, generation, partitions, started):
    """Reports of member a that claim 500,000 partitions; they are large in memory only if they are expanded."""
    for number in range(5):
        report = said(callback, "a", started, started + number, generation, ())
        yield replace(report, event=replace(report.event, partitions=partitions))


def _peak_bytes(work):
    with traced_memory() as used:
        work()
        return used()[1]


@pytest.mark.parametrize("partitions", [INVENTED, SINGLE])
@pytest.mark.parametrize(("callback", "generation"), [("revoked", 1), ("assigned", 2), ("revoked", 2), ("lost", -1)])
def test_claims_of_partitions_that_no_record_assigns_cause_no_work(partitions, callback, generation):
    tracker, _ = watch(*HISTORY)
    claims = list(_claims(Callback(callback), generation, partitions, 30_000))
    later = [
        *(replace(claim, at_ms=T0 + 46_000) for claim in claims),
        tick(60_000),
        listed(90_000),
        listed(90_250, "g"),
        said(Callback.REVOKED, "a", 90_260, 90_300, 2, (0,)),
        record(92_000, 3, member("b", (0, 1, 2, 3)), joined=91_990),
        said(Callback.LOST, "a", 92_260, 92_300, 2, (1, 2)),
        tick(110_000),
    ]
    assert _peak_bytes(lambda: feed(tracker, *later)) < 2**20


def test_claims_without_a_generation_cause_no_work():
    log = MemberReports()
    claims = [*_claims(Callback.LOST, -1, INVENTED, 30_000), *_claims(Callback.ASSIGNED, -1, INVENTED, 31_000)]
    assert all(log.add(claim.event, T0 + 40_000) for claim in claims)
    assert _peak_bytes(lambda: log.resumes("a", 2, T0 + 29_000, {"t": (0, 1)})) < 2**20


@pytest.mark.parametrize("owned", [(), (0, 1, 2, 3)])
def test_partitions_that_a_member_must_give_up_are_stalled_once_it_reports_that(owned):
    tracker, _ = watch(
        topics(0, t=4),
        record(4_000, 1, member("a", (0, 1, 2, 3)), joined=3_990, protocol="cooperative-sticky"),
        record(30_000, 2, member("a", (0, 1), owned=owned), member("b"), protocol="cooperative-sticky"),
        listed(30_100),
        listed(30_250, "g"),
    )
    assert tracker.view("g").running.stalled_partitions == 0
    feed(tracker, said(Callback.REVOKED, "a", 30_260, 30_300, 2, (2, 3)))
    assert tracker.view("g").running.stalled_partitions == 2
