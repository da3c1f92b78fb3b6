from dataclasses import replace

import pytest

from rebalance_agent.metrics import group_rows as rows
from rebalance_agent.metrics.group_metric import FOLDED, SeriesLimits
from rebalance_agent.metrics.group_rows import GROUP_SERIES_MAX
from rebalance_agent.metrics.group_samples import constant_until_ms, group_samples, running_samples
from rebalance_agent.metrics.metric import MetricType
from rebalance_agent.model.episode import Basis, Source, Trigger
from rebalance_agent.model.group import STATES, DeadLetterQueue, GroupState, GroupType
from rebalance_agent.model.reported.seat_event import SeatOccupant
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup, UnownedPartitions, UnownedReason, UnownedTime
from rebalance_agent.tracking.views import STALL_BUCKETS, Counters, GroupView, MemberLoad, StallHistogram
from support.observer.views import EMPTY_COUNTS, NOW, full_view

HISTOGRAM_SERIES = len(STALL_BUCKETS) + 3
MEMBERS_SERIES = (rows.OWNER_PARTITIONS, rows.OWNER_MEMBERS, rows.SLOWEST_MEMBER, rows.DEPARTURES, rows.SEAT_TAKEN)


def samples(view, metric, limits=None):
    return dict(group_samples(view, limits or SeriesLimits()).by_metric.get(metric, ()))


def running(view, now_ms=NOW):
    return {metric: values[0][1] for metric, values in running_samples(view, now_ms)}


def bare(**changes):
    view = GroupView("orders", GroupType.CLASSIC, Source.RECORDS, GroupState.STABLE, 1, NOW)
    return replace(view, **changes)


def test_counters_of_a_new_group_begin_at_zero_with_every_label_value():
    view = bare()
    assert samples(view, rows.COMPLETED) == {(trigger,): 0 for trigger in Trigger}
    assert samples(view, rows.STALL) == {(Basis.BOUND,): StallHistogram(EMPTY_COUNTS, 0.0)}
    for metric in (rows.FOLLOWUPS, rows.NOOP, rows.REVOKED, rows.ASSIGNED, rows.LOST, rows.MOVED, rows.MOVED_EXCESS):
        assert samples(view, metric) == {(): 0}, metric.name
    assert samples(view, rows.FAILED) == {("aborted",): 0}
    reported = replace(view, counters=Counters(assign_errors=0))
    assert samples(reported, rows.FAILED) == {("aborted",): 0, ("assign_error",): 0}


def seated(name, since_ms, client="orders-7"):
    member = MemberLoad(name, "seat", "orders-2", "/10.0.0.2", {})
    return replace(member, occupant=SeatOccupant(client, "/10.0.0.9", since_ms))


def test_the_consumer_that_took_a_seat_is_named_beside_the_one_that_the_coordinator_names():
    view = bare(members=(MemberLoad("a", None, "orders-1", "/10.0.0.1", {}), seated("b", NOW)))
    names = "orders-2", "10.0.0.2", "orders-7", "10.0.0.9"
    assert samples(view, rows.SEAT_TAKEN) == {names: NOW / 1000}
    assert not samples(full_view(members=view.members[:1]), rows.SEAT_TAKEN)


def test_of_equal_names_the_newest_handover_counts_and_beyond_the_limit_the_newest_seats():
    same = bare(members=(seated("a", NOW), seated("b", NOW - 9_000)))
    assert list(samples(same, rows.SEAT_TAKEN).values()) == [NOW / 1000]
    many = bare(members=tuple(seated(f"m{n}", NOW + n, f"orders-{n}") for n in range(50)))
    shown = samples(many, rows.SEAT_TAKEN, SeriesLimits(max_member_series=3))
    assert sorted(labels[2] for labels in shown) == ["orders-47", "orders-48", "orders-49"]


def test_unknown_values_are_absent():
    by_metric = group_samples(bare(), SeriesLimits()).by_metric
    shown = {metric for metric, each in by_metric.items() if each}
    assert not shown & {
        rows.GENERATION,
        rows.IDLE_MEMBERS,
        rows.LAST_JOIN,
        rows.LAST_SYNC,
        rows.LAST_RECONCILE,
        rows.LAST_COMPLETED,
        rows.TIMEOUT,
        rows.PARTITIONS,
        rows.UNASSIGNED,
        rows.SKEW,
        rows.IMBALANCE,
        rows.TOPIC_SPREAD,
        rows.METADATA_BYTES,
    }
    assert running(bare()) == {rows.IN_PROGRESS: 0}  # without members or earlier values


def test_polled_groups_have_no_rebalance_series():
    view = full_view(source=Source.ADMIN, counters=Counters(polled_changes=4))
    by_metric = group_samples(view, SeriesLimits()).by_metric
    counters = {metric for metric, each in by_metric.items() if metric.kind is MetricType.COUNTER and each}
    assert counters == {rows.POLLED_CHANGES}
    assert samples(view, rows.POLLED_CHANGES) == {(): 4}
    assert not by_metric[rows.STALL]
    assert rows.PARTITION_SECONDS not in running(view)


def test_a_polled_rebalance_has_no_start_time():
    view = bare(source=Source.ADMIN, state=GroupState.STABLE)
    assert running(view) == {rows.IN_PROGRESS: 0}
    for state in (GroupState.PREPARING_REBALANCE, GroupState.RECONCILING):
        assert running(replace(view, state=state)) == {}


def test_polled_groups_show_the_stalls_that_their_members_report():
    histogram = StallHistogram((1, *EMPTY_COUNTS[1:]), 0.05)
    view = bare(source=Source.ADMIN, counters=Counters(stalls={Basis.EXACT: histogram}))
    assert samples(view, rows.STALL) == {(Basis.EXACT,): histogram}


def test_groups_with_records_have_no_polled_changes():
    assert samples(bare(), rows.POLLED_CHANGES) == {}


@pytest.mark.parametrize("group_type", GroupType)
def test_the_state_is_one_of_the_group_types(group_type):
    states = samples(bare(group_type=group_type, state=GroupState.STABLE), rows.STATE)
    assert states == {(state,): int(state is GroupState.STABLE) for state in STATES[group_type]}


def test_info_has_group_type_assignor_protocol_and_source():
    assert samples(full_view(), rows.INFO) == {("classic", "range", "eager", "records"): 1}


@pytest.mark.parametrize(
    ("queue", "shown"),
    [
        (None, {}),
        (DeadLetterQueue("", copies_records=False), {}),
        (DeadLetterQueue("dlq.orders", copies_records=True), {("dlq.orders", "true"): 1}),
        (DeadLetterQueue("dlq.orders", copies_records=False), {("dlq.orders", "false"): 1}),
        (DeadLetterQueue("secret", copies_records=False), {("_folded", "false"): 1}),
    ],
)
def test_the_dead_letter_queue_is_shown_if_there_is_one(queue, shown):
    limits = SeriesLimits(topic_shown=lambda topic: topic != "secret")
    assert samples(bare(dead_letter_queue=queue), rows.DEAD_LETTER_QUEUE, limits) == shown


def test_skew_is_shown_for_every_known_weight():
    assert samples(bare(), rows.SKEW) == {}
    followed = bare(skew_ratio=1.5, lag_skew_ratio=2.0, rate_skew_ratio=1.0)
    assert samples(followed, rows.SKEW) == {("partitions",): 1.5, ("lag",): 2.0, ("rate",): 1.0}
    assert samples(bare(rate_skew_ratio=3.0), rows.SKEW) == {("rate",): 3.0}


def test_copartition_breaks_of_declared_groups_are_shown_even_if_zero():
    assert samples(bare(), rows.COPARTITION_BREAKS) == {}
    assert samples(bare(copartition_breaks=0), rows.COPARTITION_BREAKS) == {(): 0}


def test_phases_are_those_of_the_last_episode():
    view = full_view()
    assert samples(view, rows.LAST_JOIN) == {(): 4.25}
    assert samples(view, rows.LAST_SYNC) == {(): 0.25}
    assert samples(replace(view, last_reconcile_seconds=1.5), rows.LAST_RECONCILE) == {(): 1.5}
    assert samples(replace(view, last_assignor_wait_seconds=0.5), rows.LAST_ASSIGNOR_WAIT) == {(): 0.5}
    assert samples(view, rows.LAST_COMPLETED) == {(): (NOW - 60_000) / 1000}


def test_only_the_worst_topics_below_one_are_shown():
    spread = (("a", 1.0), ("b", 0.9), ("c", 0.2), ("d", 0.5), ("secret", 0.1))
    for top, shown in ((2, {("c",): 0.2, ("d",): 0.5}), (9, {("c",): 0.2, ("d",): 0.5, ("b",): 0.9})):
        limits = SeriesLimits(top_topics=top, topic_shown=lambda topic: topic != "secret")
        assert samples(bare(topic_spread=spread), rows.TOPIC_SPREAD, limits) == shown


def owning(**assigned):
    return MemberLoad("m", None, "c", "h", {topic: tuple(range(count)) for topic, count in assigned.items()})


def test_topics_have_members_and_partitions_if_a_setting_enables_them():
    unknown = MemberLoad("m", None, "c", "h", None)
    view = bare(members=(owning(orders=3, audit=1), owning(orders=2), owning(audit=1, secret=9), owning(), unknown))
    assert samples(view, rows.TOPIC_MEMBERS) == samples(view, rows.TOPIC_PARTITIONS) == {}

    def shown(most):
        limits = SeriesLimits(max_topic_series=most, topic_shown=lambda topic: topic != "secret")
        return samples(view, rows.TOPIC_MEMBERS, limits), samples(view, rows.TOPIC_PARTITIONS, limits)

    assert shown(9) == (
        {("audit",): 2, ("orders",): 2, (FOLDED,): 1},
        {("audit",): 2, ("orders",): 5, (FOLDED,): 9},
    )
    assert shown(1) == ({("orders",): 2, (FOLDED,): 2}, {("orders",): 5, (FOLDED,): 11})
    assert group_samples(view, SeriesLimits(max_topic_series=1)).folded == 2


def load(client_id, host, partitions):
    assigned = None if partitions is None else {"t": tuple(range(partitions))} if partitions else {}
    return MemberLoad(f"{client_id}-x", None, client_id, host, assigned)


def test_members_with_equal_labels_are_merged_into_maximum_and_number():
    view = bare(members=(load("c", "/h", 2), load("c", "h", 5), load("d", "h", 1)))
    assert samples(view, rows.OWNER_PARTITIONS) == {("c", "h"): 5, ("d", "h"): 1}
    assert samples(view, rows.OWNER_MEMBERS) == {("c", "h"): 2, ("d", "h"): 1}


def test_members_with_unknown_partitions_are_only_counted():
    view = bare(members=(load("c", "h", 2), load("c", "h", None), load("d", "h", 0), load("e", "h", None)))
    assert samples(view, rows.OWNER_PARTITIONS) == {("d", "h"): 0}
    assert samples(view, rows.OWNER_MEMBERS) == {("c", "h"): 2, ("d", "h"): 1, ("e", "h"): 1}
    folding = SeriesLimits(max_member_series=1)
    assert samples(view, rows.OWNER_PARTITIONS, folding) == {}
    assert samples(view, rows.OWNER_MEMBERS, folding) == {("c", "h"): 2, (FOLDED, ""): 2}


def test_members_beyond_the_bound_are_merged():
    view = bare(members=tuple(load(f"c{number:02}", "h", number) for number in range(10)))
    limits = SeriesLimits(max_member_series=3)
    assert samples(view, rows.OWNER_PARTITIONS, limits) == {
        ("c07", "h"): 7,
        ("c08", "h"): 8,
        ("c09", "h"): 9,
        (FOLDED, ""): 6,
    }
    assert samples(view, rows.OWNER_MEMBERS, limits)[FOLDED, ""] == 7
    assert group_samples(view, limits).folded == 7
    assert group_samples(view, SeriesLimits()).folded == 0


def test_both_counters_of_the_slo_advance_during_a_rebalance():
    before, after = (running(full_view(), NOW + ms) for ms in (1_000, 3_000))
    assert before[rows.IN_PROGRESS] == 2.5
    for metric in (rows.STALLED_PARTITION_SECONDS, rows.PARTITION_SECONDS):
        assert after[metric] - before[metric] == pytest.approx(2 * 6), metric.name
    assert before[rows.STALLED_PARTITION_SECONDS] >= 27.0
    assert before[rows.PARTITION_SECONDS] >= 3600.0


def test_a_group_with_unknown_partitions_has_no_slo_series():
    shown = {rows.IN_PROGRESS, rows.EMPTY_SECONDS, rows.SLOWEST_MEMBER, rows.DEPARTURES}
    assert running(full_view(consumes=False, partitions=None)).keys() == shown


def test_the_age_of_an_empty_group_grows_with_time_and_its_counters_by_its_partitions():
    unowned = UnownedTime(NOW, {UnownedReason.UNASSIGNED: 3.0}, UnownedPartitions(UnownedReason.EMPTY, 6))
    view = full_view(members=(), running=None, empty=EmptyGroup(NOW - 60_000, 2, 6), unowned=unowned)
    assert running(view)[rows.EMPTY_SECONDS] == 60
    counted = dict(running_samples(view, NOW + 11_000))[rows.UNOWNED_SECONDS]
    assert counted == [(("empty",), 60.0), (("unassigned",), 3.0)]


def test_a_clock_that_steps_back_lowers_no_counter():
    values = running(full_view(), NOW - 3_600_000)
    assert (values[rows.STALLED_PARTITION_SECONDS], values[rows.PARTITION_SECONDS]) == (27.0, 3600.0)
    assert values[rows.IN_PROGRESS] == 0


def test_the_slowest_member_of_a_rebalance_is_shown_for_an_hour_also_if_another_one_followed():
    view, hour_ms = full_view(), 3_600_000
    last, before = view.awaited

    def shown(now_ms):
        return next(
            (dict(values) for metric, values in running_samples(view, now_ms) if metric is rows.SLOWEST_MEMBER), {}
        )

    both = {("consumer-1", "10.0.0.1"): 4.2, ("consumer-0", "10.0.0.9"): 10.5}
    assert shown(before.at_ms + hour_ms - 1) == both
    assert shown(before.at_ms + hour_ms) == shown(last.at_ms + hour_ms - 1) == {("consumer-1", "10.0.0.1"): 4.2}
    assert shown(last.at_ms + hour_ms) == {}


def test_members_that_departed_are_shown_for_an_hour_and_then_the_text_is_written_again():
    view, hour_ms = full_view(running=None), 3_600_000
    (failed,) = view.departed

    def shown(now_ms):
        return next((dict(values) for metric, values in running_samples(view, now_ms) if metric is rows.DEPARTURES), {})

    assert shown(failed.at_ms + hour_ms - 1) == {("consumer-2", "10.0.0.2", "failed"): 2}
    assert shown(failed.at_ms + hour_ms) == {}
    assert constant_until_ms(bare(departed=view.departed), NOW) == failed.at_ms + hour_ms
    silent = replace(view, departed=(failed._replace(how=Departure.SILENT),))
    assert dict(running_samples(silent, NOW))[rows.DEPARTURES] == [(("consumer-2", "10.0.0.2", "unknown"), 2)]


@pytest.mark.parametrize("group_type", GroupType)
def test_a_group_has_at_most_its_maximum_of_series(group_type):
    spread = tuple((f"t{number}", 0.5) for number in range(100))
    view = full_view(group_type=group_type, topic_spread=spread)
    if group_type is not GroupType.CLASSIC:
        # Join and sync phases are the classic protocol's, and so is one record of the whole group.
        view = replace(view, last_join_seconds=None, last_sync_seconds=None, metadata_bytes=None)
        view = replace(view, last_assignor_wait_seconds=0.5, last_reconcile_seconds=0.5)
    assert series(view) <= GROUP_SERIES_MAX + 3
    view = replace(view, lag_skew_ratio=None, rate_skew_ratio=None, copartition_breaks=None)
    assert series(view) <= GROUP_SERIES_MAX
    stalls = {basis: StallHistogram() for basis in Basis}
    reported = replace(view.counters, stalls=stalls, assign_errors=0, doubly_owned_partition_seconds=0.0)
    assert series(replace(view, counters=reported)) <= GROUP_SERIES_MAX + HISTOGRAM_SERIES + 2


def series(view):
    by_metric = group_samples(view, SeriesLimits()).by_metric
    numbers = {metric: len(each) * (HISTOGRAM_SERIES if metric.buckets else 1) for metric, each in by_metric.items()}
    for metric, values in running_samples(view, NOW):
        numbers[metric] = len(values)
    return sum(number for metric, number in numbers.items() if metric not in MEMBERS_SERIES)
