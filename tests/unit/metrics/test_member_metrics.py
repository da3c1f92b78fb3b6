from dataclasses import replace

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.metrics.export import clients_seen, owned_partitions
from rebalance_agent.metrics.export.member_metrics import MemberLimits, MemberMetrics
from rebalance_agent.metrics.group_metric import FOLDED
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback
from support.observer.scrapes import families, promtool_says, values
from support.observer.views import NOW, assign_event, member_event

PREFIX = "kafka_rebalance_member_"


class Sidecar:
    """Metrics of members with a clock that the test moves."""

    def __init__(self, **limits):
        self.clock = FakeClock(NOW)
        self.metrics = MemberMetrics(self.clock, MemberLimits(**limits))

    def take(self, *events):
        self.metrics.observe(events)

    def value(self, name, *labels):
        """The value of a series, after a scrape at which it may still have been held back at 0."""
        self.metrics.text()
        return self.scraped(name, *labels)

    def scraped(self, name, *labels):
        """The value of a series in the next scrape."""
        return values(self.metrics.text()).get((PREFIX + name, *labels))


def quality(skew):
    return AssignmentQuality(0, 1.0, skew, 0, 0, 0, 0)


def test_the_page_is_empty_before_the_first_event():
    assert MemberMetrics(FakeClock()).text() == b""


def test_callbacks_are_timed_and_their_partitions_counted():
    sidecar = Sidecar()
    sidecar.take(member_event())
    assert sidecar.value("callback_seconds_sum", "orders", "assigned") == 0.25
    assert sidecar.value("assigned_total", "orders", "consumer-1") == 3
    assert sidecar.value("revoked_total", "orders", "consumer-1") == 0
    assert sidecar.value("lost_total", "orders", "consumer-1") == 0
    assert sidecar.value("generation", "orders", "consumer-1") == 2
    assert sidecar.value("partitions", "orders", "consumer-1") == 3


def test_a_stall_lasts_from_revoked_entered_to_assigned_returned():
    sidecar = Sidecar()
    sidecar.take(
        member_event(sequence=1),
        member_event(Callback.REVOKED, 2, started_ms=NOW + 1_000, timestamp_ms=NOW + 1_400),
        member_event(Callback.ASSIGNED, 3, started_ms=NOW + 2_900, timestamp_ms=NOW + 3_000),
    )
    assert sidecar.value("stall_seconds_sum", "orders") == 2.0
    assert sidecar.value("stall_seconds_count", "orders") == 1


FIRST_REBALANCE = (
    member_event(Callback.REVOKED, 2, started_ms=NOW + 1_000, timestamp_ms=NOW + 1_400, reprocessed_records=7),
    member_event(Callback.ASSIGNED, 3, started_ms=NOW + 2_900, timestamp_ms=NOW + 3_000, join_seconds=1.5),
    assign_event(4, error="ValueError: boom"),
)
COUNTED = {
    ("callback_seconds_count", "orders", "revoked"): 1,
    ("callback_seconds_sum", "orders", "revoked"): 0.4,
    ("callback_seconds_bucket", "orders", "revoked", "0.5"): 1,
    ("callback_seconds_count", "orders", "assigned"): 2,
    ("stall_seconds_count", "orders"): 1,
    ("join_seconds_sum", "orders"): 1.5,
    ("assigned_total", "orders", "consumer-1"): 6,
    ("reprocessed_records_total", "orders", "consumer-1"): 7,
    ("assign_failures_total", "orders", "weighted-sticky"): 1,
    ("assign_seconds_count", "orders", "weighted-sticky"): 1,
}


def test_the_first_value_of_every_total_is_scraped_after_a_zero():
    """A sidecar lives as long as its pod, so its first rebalance is often the only one."""
    sidecar = Sidecar()
    sidecar.take(member_event(), *FIRST_REBALANCE)
    first = values(sidecar.metrics.text())
    assert {name for (name, *_), value in first.items() if value} == {PREFIX + "generation", PREFIX + "partitions"}
    assert {(PREFIX + name, *labels) for name, *labels in COUNTED} <= first.keys()
    assert {labels: sidecar.scraped(*labels) for labels in COUNTED} == COUNTED


def test_counters_of_a_shutdown_are_scraped_at_zero_from_the_start():
    sidecar = Sidecar()
    sidecar.take(member_event())
    start = values(sidecar.metrics.text())
    sidecar.take(*FIRST_REBALANCE[:1], member_event(Callback.LEFT, 3, partitions={}))
    for labels in (("callback_seconds_count", "orders", "revoked"), ("revoked_total", "orders", "consumer-1")):
        assert start[(PREFIX + labels[0], *labels[1:])] == 0
        assert sidecar.scraped(*labels) > 0


def test_a_removed_series_restarts_at_zero():
    sidecar = Sidecar(silent_seconds=60)
    sidecar.take(member_event())
    assert sidecar.value("assigned_total", "orders", "consumer-1") == 3
    sidecar.clock.advance(60_001)
    assert sidecar.metrics.text() == b""
    sidecar.take(member_event(sequence=2))
    assert sidecar.scraped("assigned_total", "orders", "consumer-1") == 0
    assert sidecar.scraped("assigned_total", "orders", "consumer-1") == 3


def test_a_lost_callback_begins_a_stall_too():
    sidecar = Sidecar()
    sidecar.take(
        member_event(Callback.LOST, 1, started_ms=NOW, timestamp_ms=NOW + 10),
        member_event(Callback.ASSIGNED, 2, started_ms=NOW + 400, timestamp_ms=NOW + 500),
    )
    assert sidecar.value("stall_seconds_sum", "orders") == 0.5


def test_a_revocation_without_partitions_is_no_stall():
    sidecar = Sidecar()
    sidecar.take(member_event(Callback.REVOKED, 1, partitions={}), member_event(sequence=2))
    assert sidecar.value("stall_seconds_count", "orders") == 0


def test_owned_partitions_follow_eager_and_cooperative_callbacks():
    sidecar = Sidecar()
    sidecar.take(member_event(sequence=1), member_event(Callback.REVOKED, 2, partitions={"payments": (2,)}))
    assert sidecar.value("partitions", "orders", "consumer-1") == 2
    sidecar.take(member_event(sequence=3, partitions={"refunds": (0,)}, generation=3))
    assert sidecar.value("partitions", "orders", "consumer-1") == 3
    assert sidecar.value("generation", "orders", "consumer-1") == 3


def test_a_repeated_post_counts_once():
    sidecar = Sidecar()
    sidecar.take(member_event(sequence=1), assign_event(sequence=2))
    sidecar.take(member_event(sequence=1), assign_event(sequence=2))
    assert sidecar.value("assigned_total", "orders", "consumer-1") == 3
    assert sidecar.value("assign_seconds_count", "orders", "weighted-sticky") == 1


def test_a_killed_process_does_not_keep_partitions_of_its_successor():
    sidecar = Sidecar()
    sidecar.take(member_event(process="p1"), member_event(process="p2"))
    assert sidecar.value("partitions", "orders", "consumer-1") == 3


def test_consumers_with_equal_labels_add_up():
    sidecar = Sidecar()
    sidecar.take(
        member_event(process="p1", partitions={"t": (0, 1)}, generation=4),
        member_event(process="p2", partitions={"t": (2,)}, generation=5),
    )
    assert sidecar.value("partitions", "orders", "consumer-1") == 3
    assert sidecar.value("generation", "orders", "consumer-1") == 5


def test_the_leaders_assign_calls_are_timed_measured_and_their_failures_counted():
    sidecar = Sidecar()
    sidecar.take(assign_event(1, quality=quality(1.5)), assign_event(2, error="ValueError: boom"))
    assert sidecar.value("assign_seconds_sum", "orders", "weighted-sticky") == 0.04
    assert sidecar.value("assign_failures_total", "orders", "weighted-sticky") == 1
    assert sidecar.value("assignment_skew_ratio", "orders", "consumer-1") == 1.5


def test_missing_standbys_are_those_of_the_last_assignment():
    sidecar = Sidecar()
    sidecar.take(assign_event(1, quality=replace(quality(1.0), missing_standbys=4)))
    assert sidecar.value("missing_standbys", "orders", "consumer-1") == 4
    sidecar.take(assign_event(2, quality=replace(quality(1.0), missing_standbys=0)))
    assert sidecar.value("missing_standbys", "orders", "consumer-1") == 0
    sidecar.take(assign_event(3, quality=quality(1.0)))
    assert "missing_standbys{" not in sidecar.metrics.text().decode()


def test_members_whose_user_data_did_not_decode_are_counted_in_each_call():
    sidecar = Sidecar(silent_seconds=60)
    sidecar.take(assign_event(1))
    assert sidecar.value("user_data_errors_total", "orders", "weighted-sticky") == 0
    sidecar.take(
        assign_event(2, user_data_errors={"m1": "cut", "m2": "cut"}), assign_event(3, user_data_errors={"m1": "cut"})
    )
    assert sidecar.value("user_data_errors_total", "orders", "weighted-sticky") == 3
    sidecar.clock.advance(60_001)
    assert sidecar.metrics.text() == b""


def test_a_leaving_client_has_no_gauges_but_keeps_its_totals():
    sidecar = Sidecar(silent_seconds=60)
    sidecar.take(member_event(sequence=1), member_event(Callback.LEFT, 2, partitions={}))
    assert sidecar.value("partitions", "orders", "consumer-1") is None
    assert sidecar.value("generation", "orders", "consumer-1") is None
    assert sidecar.value("assigned_total", "orders", "consumer-1") == 3
    sidecar.clock.advance(60_001)
    assert sidecar.metrics.text() == b""


def test_clients_without_events_are_removed_and_others_stay():
    sidecar = Sidecar(silent_seconds=60)
    sidecar.take(member_event(), assign_event(2), member_event(process="p2", group="other", partitions={"t": (0,)}))
    sidecar.clock.advance(40_000)
    sidecar.take(member_event(process="p2", group="other", sequence=2, partitions={"t": (1,)}))
    sidecar.clock.advance(40_000)
    text = sidecar.metrics.text()
    assert b'"orders"' not in text
    assert sidecar.value("partitions", "other", "consumer-1") == 2


def test_a_client_with_heartbeats_stays_and_is_removed_soon_after_the_last_one():
    sidecar = Sidecar(silent_seconds=3_600, lifeless_seconds=60)
    sidecar.take(member_event(), member_event(process="p2", group="other", partitions={"t": (0,)}))
    for _ in range(100):
        sidecar.clock.advance(50_000)
        sidecar.metrics.alive("p1")
    assert sidecar.value("partitions", "orders", "consumer-1") == 3
    assert sidecar.value("partitions", "other", "consumer-1") is None
    sidecar.clock.advance(60_001)
    assert sidecar.value("partitions", "orders", "consumer-1") is None
    assert sidecar.value("assigned_total", "orders", "consumer-1") == 3
    sidecar.clock.advance(3_600_000)
    assert sidecar.metrics.text() == b""


def test_a_heartbeat_of_an_unknown_process_adds_no_consumer():
    sidecar = Sidecar()
    sidecar.metrics.alive("p1")
    assert sidecar.metrics.text() == b""


def test_reprocessed_records_are_counted_from_zero():
    sidecar = Sidecar(silent_seconds=60)
    sidecar.take(member_event(sequence=1))
    assert sidecar.value("reprocessed_records_total", "orders", "consumer-1") is None
    sidecar.take(member_event(sequence=2, reprocessed_records=0))
    assert sidecar.value("reprocessed_records_total", "orders", "consumer-1") == 0
    sidecar.take(member_event(Callback.REVOKED, 3, reprocessed_records=120))
    sidecar.take(member_event(Callback.LOST, 4, reprocessed_records=-5))
    assert sidecar.value("reprocessed_records_total", "orders", "consumer-1") == 120
    sidecar.clock.advance(60_001)
    assert sidecar.metrics.text() == b""


def test_waits_for_the_coordinator_are_measured():
    sidecar = Sidecar()
    sidecar.take(member_event(join_seconds=3.0, sync_seconds=0.25))
    assert sidecar.value("join_seconds_sum", "orders") == 3.0
    assert sidecar.value("sync_seconds_sum", "orders") == 0.25


def test_rejected_commits_seen_by_a_gateway_are_counted_from_zero():
    sidecar = Sidecar()
    sidecar.take(member_event(sequence=1))
    assert sidecar.value("rejected_commits_total", "orders", "consumer-1") is None
    sidecar.take(member_event(sequence=2, evidence=Evidence.GATEWAY))
    assert sidecar.value("rejected_commits_total", "orders", "consumer-1") == 0
    sidecar.take(member_event(Callback.REVOKED, 3, evidence=Evidence.GATEWAY, rejected_commits=2))
    assert sidecar.value("rejected_commits_total", "orders", "consumer-1") == 2


def test_events_of_a_gateway_have_no_callback_times():
    sidecar = Sidecar()
    fields = {"evidence": Evidence.GATEWAY, "stop_seconds": 2.5, "rejected_commits": 3}
    sidecar.take(member_event(Callback.REVOKED, 1, **fields))
    assert sidecar.value("stop_seconds_sum", "orders") == 2.5
    assert sidecar.value("rejected_commits_total", "orders", "consumer-1") == 3
    assert sidecar.value("callback_seconds_count", "orders", "revoked") is None
    sidecar.take(member_event(Callback.REVOKED, 2))
    assert sidecar.value("callback_seconds_count", "orders", "revoked") == 1


def test_no_event_of_a_client_decreases_a_total():
    sidecar = Sidecar()
    fields = {"evidence": Evidence.GATEWAY, "stop_seconds": -1.0, "join_seconds": -1.0, "rejected_commits": -3}
    sidecar.take(member_event(Callback.REVOKED, 1, reprocessed_records=-2, **fields))
    sidecar.take(assign_event(sequence=2, duration_seconds=-5.0))
    assert sidecar.value("rejected_commits_total", "orders", "consumer-1") == 0
    assert sidecar.value("stop_seconds_sum", "orders") == 0
    assert sidecar.value("assign_seconds_sum", "orders", "weighted-sticky") == 0


def test_a_generation_that_the_client_does_not_show_is_absent():
    sidecar = Sidecar()
    sidecar.take(member_event(generation=-1))
    assert sidecar.value("generation", "orders", "consumer-1") is None
    assert sidecar.value("partitions", "orders", "consumer-1") == 3


def test_client_ids_beyond_the_bound_are_merged():
    sidecar = Sidecar(max_client_ids=2)
    sidecar.take(*(member_event(process=f"p{n}", client_id=f"c{n}", partitions={"t": (n,)}) for n in range(5)))
    assert sidecar.value("partitions", "orders", "c1") == 1
    assert sidecar.value("partitions", "orders", FOLDED) == 3
    assert sidecar.value("assigned_total", "orders", FOLDED) == 3
    assert sidecar.metrics.folded == 3


def test_groups_beyond_the_bound_are_merged():
    sidecar = Sidecar(max_client_ids=2)
    sidecar.take(*(member_event(process=f"p{n}", group=f"g{n}") for n in range(5)))
    assert sidecar.value("assigned_total", FOLDED, FOLDED) == 9
    assert sidecar.value("callback_seconds_count", FOLDED, "assigned") == 3


def test_assignors_beyond_the_bound_are_merged():
    sidecar = Sidecar(max_assignors=2)
    sidecar.take(*(assign_event(n, assignor=f"a{n}") for n in range(1, 6)))
    assert sidecar.value("assign_seconds_count", "orders", "a2") == 1
    assert sidecar.value("assign_seconds_count", "orders", FOLDED) == 3


def test_memory_of_clients_is_bounded(monkeypatch):
    monkeypatch.setattr(clients_seen, "CLIENTS_MAX", 10)
    sidecar = Sidecar()
    sidecar.take(*(member_event(process=f"p{n}", partitions={"t": (n,)}) for n in range(30)))
    assert sidecar.value("partitions", "orders", "consumer-1") == 10


def test_memory_of_partitions_is_bounded(monkeypatch):
    monkeypatch.setattr(
        clients_seen, "OWNED_BYTES_MAX", owned_partitions.TOPIC_BYTES + owned_partitions.CHUNK_BYTES + 200
    )
    sidecar = Sidecar()
    sidecar.take(*(member_event(process=f"p{n}", partitions={f"t{n}": tuple(range(60))}) for n in range(3)))
    assert sidecar.value("partitions", "orders", "consumer-1") == 60


@pytest.mark.parametrize("name", ['a"b\\\n', "a\0b", "x" * 1_000])
def test_names_with_special_characters_are_label_values(name):
    sidecar = Sidecar()
    sidecar.take(member_event(group=name, client_id=name), assign_event(2, group=name, assignor=name))
    text = sidecar.metrics.text()
    assert families(text)
    assert promtool_says(text) == ""
    assert b"_created" not in text
