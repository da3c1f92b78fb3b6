"""The final conditions, and the names in their error messages."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos.faults.flood import post
from chaos.members.kinds import Kind
from chaos.verdict import oracle
from chaos.verdict.oracle import back, judged, read_at_least_once, rebalances, reported
from rebalance_agent.audit.audit_report import UNREADABLE, AuditReport
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.event_json import json_line
from rebalance_agent.tracking.tracker import Tracker
from support.members.member_lines import Lines
from support.tracker.tracking import feed, record, tick, topics
from support.tracker.tracking import member as joined

WRITTEN = {(0, 0), (0, 1), (1, 0)}


def member(*records):
    lines = Lines()
    for each in records:
        lines.take_line("read", 1, *each)
    return lines


def all_groups(*members):
    return SimpleNamespace(kinds=[Kind("orders", "librdkafka")], members={"orders": list(members)})


def test_records_may_be_read_by_any_member_and_more_than_once():
    (verdict,) = read_at_least_once(all_groups(member((0, 0), (0, 1)), member((0, 1), (1, 0))), WRITTEN)
    assert verdict.wrong == ()
    assert verdict.what == "orders: 2 members read 3 records, 1 once more"


def test_a_record_that_no_member_read_is_an_error():
    (verdict,) = read_at_least_once(all_groups(member((0, 0)), member((1, 0))), WRITTEN)
    assert verdict.wrong == ("orders: 1 records were never read, such as [(0, 1)]",)


def test_a_run_without_records_is_an_error():
    (verdict,) = read_at_least_once(all_groups(member((0, 0))), set())
    assert verdict.wrong


def test_members_that_do_not_report_their_records_are_not_judged():
    assert read_at_least_once(all_groups(SimpleNamespace()), WRITTEN) == []


def test_instrumented_groups_without_published_events_are_an_error():
    kinds = [Kind("python", "kafka-python", instrumented=True), Kind("bare", "librdkafka")]
    verdict = reported(SimpleNamespace(kinds=kinds), post().splitlines())
    assert verdict.wrong == ("nothing that members of chaos-python report was published",)


def test_an_agent_that_is_not_ready_at_the_end_is_an_error():
    verdict = back((agent(life("observe-2")), agent(life("sidecar-1", ready=lambda: False))), patience_s=0)
    assert verdict.what == "memory at most: observe-2 70 MiB, sidecar-1 70 MiB"
    assert verdict.wrong == ("sidecar-1 is not ready in the end",)


def test_memory_above_the_charts_limit_is_an_error_also_after_a_restart():
    verdict = back((agent(life("observe-1", mib=401.0), life("observe-2")),))
    assert verdict.what == "memory at most: observe-1 401 MiB, observe-2 70 MiB"
    assert verdict.wrong == ("observe-1 took 401 MiB: more than 384",)


def test_an_agent_that_responds_late_is_accepted():
    answers = iter([False, True])
    assert back((agent(life("observe-1", ready=lambda: next(answers))),)).wrong == ()


def life(name, ready=lambda: True, mib=70.4):
    return SimpleNamespace(name=name, ready=ready, peak_mib=lambda: mib)


def agent(*lives):
    return SimpleNamespace(lives=lives, life=lives[-1], memory_mib=384)


def test_a_request_to_a_cluster_that_does_not_respond_is_repeated(monkeypatch):
    asked = []

    def refuses(*_):
        asked.append("once")
        if len(asked) < 3:
            raise ClusterError("reading metadata: timed out")
        return SimpleNamespace(cluster_id="cluster", names=dict, events=lambda *_: 0, post=lambda _: None)

    monkeypatch.setattr(oracle, "VerifiedCluster", refuses)
    assert oracle.balance("", "events", 0, {"g"}).clean
    assert len(asked) == 3


def test_generations_count_as_rebalances_once_however_often_reported():
    published = feed(
        Tracker("cluster", settle_ms=1_000),
        topics(0, t=4),
        record(1_000, 1, joined("a", (0, 1, 2, 3))),
        record(9_000, 5, joined("a", (0, 1, 2, 3))),  # the generations in between were aborted
        tick(20_000),
    )
    assert {each.KIND for each in published} == {"generation", "aborted"}
    published = [json_line(each) for each in (*published, *published)] + post().splitlines()
    assert rebalances(published, {"g"}, 2).wrong == ()
    assert rebalances(published, {"g"}, 2).what == "2 rebalances"
    assert rebalances(published, {"g"}, 3).wrong
    assert rebalances(published, {"h"}, 1).wrong


def test_each_group_may_be_unjudged_once_for_each_start_without_a_snapshot():
    lives = [SimpleNamespace(readings=lambda each=each: each) for each in ([(0, 3), (3, 3)], [(3, 3)], [(2, 3)])]
    report = AuditReport(groups={"g", "h"})
    report.leave("because", 4)
    assert judged(report, lives, {"g", "h"}).wrong == ()
    report.leave("because")
    (wrong,) = judged(report, lives, {"g", "h"}).wrong
    assert wrong.startswith("5 facts were not checked: 4 at most")
    report.agreed = 100
    assert judged(report, lives, {"g", "h"}).wrong == ()


@pytest.mark.parametrize(
    ("more", "unread", "wrong"),
    [
        ({}, 0, ()),
        ({"groups": {"g", "other"}}, 0, ("there is no fact of h, which played",)),
        ({"pending": 2}, 0, ("2 facts are too new to have been published, long after all members left",)),
        ({}, 30, (f"30 {UNREADABLE}",)),
    ],
)
def test_unknown_groups_and_unread_or_pending_records_are_errors(more, unread, wrong):
    report = AuditReport(**{"agreed": 1_000, "groups": {"g", "h"}} | more)
    report.leave(UNREADABLE, unread)
    assert judged(report, [], {"g", "h"}).wrong == wrong
