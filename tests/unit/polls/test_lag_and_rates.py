import logging

import pytest

from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType
from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.polls import followed_partitions
from rebalance_agent.polls import lag_and_rates as module
from rebalance_agent.polls.lag_and_rates import LoadsPoll
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.observations import GroupRecord, LoadsSeen
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.views import MemberLoad
from support.kafka.commits import Batches, Shown, commit_key, commit_value
from support.observer.fakes import fake_context
from support.observer.views import full_view

TOPIC = "__consumer_offsets"


class FakeCluster:
    """End offsets of partitions and of the offsets topic, and commits of groups; counts its requests."""

    def __init__(self):
        self.log_end = self.stable = 0
        self.growth = {}
        self.offsets = {}
        self.asked = []

    def ends(self, partitions):
        self.asked.append(("ends", frozenset(partitions)))
        return {partition: self.growth[partition] for partition in partitions if partition in self.growth}

    def end_offsets(self, topic, partitions, *, stable=False):
        assert topic == TOPIC
        return dict.fromkeys(partitions, self.stable if stable else self.log_end)

    def committed(self, groups):
        self.asked.append(("committed", tuple(groups)))
        if any(isinstance(self.offsets.get(name), Exception) for name in groups):
            raise self.offsets[groups[0]]
        return {name: self.offsets.get(name, {}) for name in groups}


class Bench:
    def __init__(self):
        self.cluster = FakeCluster()
        self.context = fake_context(self.cluster)
        self.views = [view("g", {"t": (0, 1)})]
        self.tailing = True
        self.loads = LoadsPoll(self.context, NameFilter("g.*"), lambda: self.views, lambda: self.tailing)
        self.loads.on_topics({"t": 10, "u": 10})
        self.loads.commits.on_records([], {0: 0})

    def poll(self, seconds=15):
        self.context.clock.advance(seconds * 1000)
        self.loads.poll()
        (seen,) = self.context.inbox.take(9, 0)
        assert isinstance(seen, LoadsSeen)
        return seen.groups

    def commit(self, partition, offset):
        record = Shown(self.cluster.log_end, commit_key(partition), commit_value(offset))
        self.cluster.log_end += 1
        self.cluster.stable = self.cluster.log_end
        self.loads.commits.on_records([record], {0: self.cluster.log_end})

    def fetched(self):
        """The groups whose commits were requested since the last call."""
        groups = [name for what, names in self.cluster.asked if what == "committed" for name in names]
        self.cluster.asked.clear()
        return groups


def view(group, *assigned, **changes):
    members = tuple(MemberLoad(f"m{place}", None, "c", "h", some) for place, some in enumerate(assigned))
    return full_view(group, members=members, **changes)


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setattr(module, "READ_WAIT_S", 0)
    return Bench()


def test_commits_are_fetched_once_and_then_read_from_the_topic(bench):
    bench.cluster.growth = {("t", 0): 100, ("t", 1): 50}
    bench.cluster.offsets = {"g": {("t", 0): 90, ("t", 1): 50}}
    assert bench.poll() == {"g": GroupLoads({("t", 0): 10, ("t", 1): 0}, None)}
    assert bench.fetched() == ["g"]
    bench.commit(0, 100)
    bench.cluster.growth = {("t", 0): 130, ("t", 1): 50}
    assert bench.poll() == {"g": GroupLoads({("t", 0): 30, ("t", 1): 0}, {("t", 0): 2, ("t", 1): 0})}
    assert bench.fetched() == []
    assert bench.context.health.made[-1] == ("ready", "loads")


def test_a_group_that_never_committed_has_a_rate_and_no_lag(bench):
    bench.cluster.growth = {("t", 0): 100, ("t", 1): 50}
    bench.poll()
    assert bench.poll() == {"g": GroupLoads(None, {("t", 0): 0, ("t", 1): 0})}


def test_a_partition_without_a_commit_has_its_minimum_lag(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100, ("t", 1): 50}, {"g": {("t", 0): 90}}
    bench.poll()
    bench.cluster.growth = {("t", 0): 100, ("t", 1): 57}
    assert bench.poll()["g"].lag == {("t", 0): 10, ("t", 1): 7}


def test_commits_are_fetched_at_each_poll_without_the_offsets_topic(bench):
    bench.poll()
    bench.tailing = False
    bench.poll()
    bench.poll()
    assert bench.fetched() == ["g"] * 3
    bench.tailing = True
    bench.poll()
    assert bench.fetched() == []
    bench.poll(seconds=module.DOUBT_AGAIN_S)
    assert bench.fetched() == ["g"]


def test_only_groups_with_members_and_exclusive_partitions_are_followed(bench):
    bench.views = [
        view("g1", {"t": (0,)}, {"t": (1,), "u": (2,)}),
        view("g2"),
        view("g3", {"t": (0,)}, group_type=GroupType.SHARE),
        view("other", {"t": (5,)}),
    ]
    assert bench.poll().keys() == {"g1"}
    assert ("ends", {("t", 0), ("t", 1), ("u", 2)}) in bench.cluster.asked


def test_nonexistent_partitions_are_not_requested(bench):
    bench.views = [view("g", {"t": (9, 10), "gone": (0,), "no/name": (0,)})]
    bench.poll()
    assert ("ends", {("t", 9)}) in bench.cluster.asked


def test_without_end_offsets_there_are_no_loads(bench):
    bench.cluster.offsets = {"g": {("t", 0): 90}}
    bench.poll()
    assert bench.poll() == {"g": GroupLoads(None, None)}


def test_groups_beyond_the_bound_are_omitted_counted_and_reported_once(bench, monkeypatch, caplog):
    monkeypatch.setattr(module, "FOLLOWED_MAX", 3)
    bench.views = [view("g2", {"t": (0, 1)}), view("g1", {"u": (0, 1)}), view("g3", {"t": (0,)})]
    with caplog.at_level(logging.WARNING):
        assert list(bench.poll()) == list(bench.poll()) == ["g1", "g3"]
    assert bench.context.meters.of("loads_left_out") == [(2,), (2,)]
    advice = "make lag_groups match fewer groups"
    assert [record.message.split("; ")[1] for record in caplog.records] == [advice]
    bench.views = bench.views[1:]
    bench.poll()
    assert bench.context.meters.of("loads_left_out")[-1] == (0,)


def test_requests_for_groups_per_period_are_bounded(bench, monkeypatch):
    monkeypatch.setattr(module, "FETCHES_MAX", 2)
    bench.views = [view(f"g{number}", {"t": (0,)}) for number in range(3)]
    bench.poll()
    bench.poll()
    assert bench.fetched() == ["g0", "g1", "g2"]


def test_a_coordinators_refusal_is_reported_and_does_not_delay_rates(bench):
    bench.cluster.growth = {("t", 0): 100}
    bench.poll()
    bench.cluster.offsets = {"g": ClusterError("not mine")}
    bench.tailing = False
    assert bench.poll() == {"g": GroupLoads(None, {("t", 0): 0})}
    assert bench.context.health.made[-1] == ("unready", "loads", "not mine")


def test_a_removed_group_is_reported_as_no_longer_followed(bench):
    bench.poll()
    bench.views = []
    assert bench.poll() == {}


@pytest.mark.parametrize("most", [1, 2, 5])
def test_commits_are_observed_in_their_order_with_the_records_of_groups(most):
    bench = Bench()
    bench.poll()
    groups = GroupRecords(bench.context)
    telling = ObservationEmitter(bench.context, groups, bench.loads.on_records)
    deleted = b"\0\2\0\1g"
    batches = Batches(
        [
            Shown(0, commit_key(1), commit_value(5), 7_000),
            Shown(1, deleted, None, 7_100),
            Shown(2, commit_key(1), commit_value(6), 7_200),
            Shown(3, deleted, None, 7_300),
            Shown(4, commit_key(1), commit_value(7), 7_400),
        ],
        most,
    )
    while batches.records:
        records = batches.read()
        telling.emit_live(records, [message for message, _ in groups.of_groups(records)], batches.positions)
    bench.context.clock.advance(1_000)
    telling.emit_live([], [], batches.positions)
    observed = bench.context.inbox.take(9, 0)
    seen = [one.timestamp_ms if isinstance(one, GroupRecord) else [*one.commits.items()] for one in observed]
    key = commit_key(1)
    assert seen == [[(key, (7_000, 5))], 7_100, [(key, (7_200, 6))], 7_300, [(key, (7_400, 7))]]
    assert bench.loads.commits.wait_read({0: 5}, 0)


def fail(*_asked, **_how):
    raise ClusterError("no broker")


def lag(bench, group="g"):
    return bench.loads.lags.get(group)


def test_a_group_that_is_empty_keeps_the_partitions_that_it_committed_and_its_lag_grows(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100, ("t", 1): 50}, {"g": {("t", 0): 90}}
    bench.poll()
    assert (lag(bench).offsets, lag(bench).has_owned) == (10, True)
    bench.views = [view("g")]
    bench.cluster.growth = {("t", 0): 160, ("t", 1): 80}
    assert bench.poll() == {}
    assert (lag(bench).offsets, lag(bench).has_owned, lag(bench).appended_per_second) == (70, False, 4.0)


def test_an_observer_started_later_requests_the_offsets_of_an_empty_group_once(bench):
    bench.views = [view("g", group_type=GroupType.CLASSIC)]
    bench.cluster.growth = {("t", 0): 100, ("gone", 0): 5}
    bench.cluster.offsets = {"g": {("t", 0): 90, ("gone", 0): 1}}
    bench.poll()
    assert (lag(bench).offsets, lag(bench).has_owned) == (10, False)
    assert set(bench.fetched()) == {"g"}
    bench.poll()
    assert bench.fetched() == []


def test_offsets_of_an_empty_group_without_commits_are_requested_rarely(bench):
    bench.views = [view("g")]
    bench.poll()
    bench.poll()
    assert bench.fetched() == ["g"]
    assert lag(bench) is None
    bench.poll(seconds=followed_partitions.ASK_AGAIN_S)
    assert bench.fetched() == ["g"]


def test_offsets_of_a_topic_without_subscribers_do_not_count(bench):
    bench.cluster.growth = {("t", 0): 100, ("u", 0): 100}
    bench.cluster.offsets = {"g": {("t", 0): 90, ("u", 0): 1}}
    bench.views = [view("g", {"t": (0,), "u": (0,)})]
    bench.poll()
    assert lag(bench).offsets == 109
    one = MemberLoad("m", None, "c", "h", {"t": (1,)}, topics=("t",))
    bench.views = [full_view("g", members=(one,))]
    bench.poll()
    # Partition 0 of t has no owner, so no member reads it: it counts.
    assert [topic.topic for topic in lag(bench).topics] == ["t"]
    assert lag(bench).offsets == 10


def test_after_a_failed_measurement_no_lag_is_shown(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100}, {"g": {("t", 0): 90}}
    bench.poll()
    assert lag(bench)

    bench.cluster.ends = fail
    bench.context.clock.advance(15_000)
    bench.loads.poll()
    assert lag(bench) is None
    assert bench.context.health.made[-1] == ("unready", "loads", "no broker")


def test_during_an_outage_only_a_lag_with_certain_commits_is_shown(bench):
    bench.views = [view("g"), view("g2", {"t": (1,)})]
    bench.cluster.growth = {("t", 0): 100, ("t", 1): 50}
    bench.cluster.offsets = {"g": {("t", 0): 90}, "g2": {("t", 1): 40}}
    bench.poll()
    assert bench.loads.lags.keys() == {"g", "g2"}
    record = Shown(bench.cluster.log_end, commit_key(1, "g2"), commit_value(50))
    bench.loads.commits.on_records([record], {0: bench.cluster.log_end + 1})

    bench.cluster.end_offsets = fail
    bench.cluster.growth = {("t", 0): 160, ("t", 1): 50}
    bench.poll()
    assert {group: lag.offsets for group, lag in bench.loads.lags.items()} == {"g": 70}


def catching_up(bench):
    return lag(bench).catch_up


def test_a_partition_of_another_member_catches_up_until_its_backlog_is_committed(bench):
    bench.cluster.growth, bench.cluster.offsets = (
        dict.fromkeys([("t", 0), ("t", 1)], 100),
        {"g": {("t", 0): 9, ("t", 1): 9}},
    )
    bench.poll()
    assert catching_up(bench) == CatchUp()
    bench.views = [view("g", {"t": (0,)}, {"t": (1,)})]
    bench.poll()
    bench.poll()
    assert catching_up(bench) == CatchUp(1, 1, 15.0, 15.0)
    bench.commit(1, 100)
    bench.poll()
    assert catching_up(bench) == CatchUp(0, 1, 15.0, 15.0)


def test_a_static_member_that_restarts_keeps_its_partitions(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100}, {"g": {("t", 0): 9}}
    for member_id in ("m-1", "m-2"):
        bench.views = [full_view("g", members=(MemberLoad(member_id, "m", "c", "h", {"t": (0,)}),))]
        bench.poll()
    assert catching_up(bench) == CatchUp()


def test_with_a_redundant_strategy_a_partition_that_keeps_one_owner_has_not_moved(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100}, {"g": {("t", 0): 9}}
    for owners in ((None, 0), (0, 0), (0, None)):
        parts = [{"t": () if part is None else (part,)} for part in owners]
        bench.views = [view("g", *parts)]
        bench.poll()
    assert catching_up(bench) == CatchUp()


def test_during_the_backfill_owners_are_unknown_unless_polled(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100}, {"g": {("t", 0): 9}}
    bench.tailing = False
    for source, moved in ((Source.RECORDS, 0), (Source.ADMIN, 1)):
        for assigned in (({"t": (0,)}, {}), ({}, {"t": (0,)})):
            bench.views = [view("g", *assigned, source=source)]
            bench.poll()
        assert catching_up(bench).moved == moved


def test_members_without_a_known_assignment_are_no_change_of_owners(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100}, {"g": {("t", 0): 9}}
    for assigned in ({"t": (0,)}, None, {"t": (0,)}):
        bench.views = [view("g", assigned, {"t": (1,)}, source=Source.ADMIN)]
        bench.poll()
    assert catching_up(bench) == CatchUp()


def test_uncertain_commits_add_no_time_until_the_next_certain_ones(bench):
    bench.cluster.growth, bench.cluster.offsets = {("t", 0): 100}, {"g": {("t", 0): 9}}
    for assigned in (({"t": (0,)}, {}), ({}, {"t": (0,)})):
        bench.views = [view("g", *assigned)]
        bench.poll()
    bench.commit(0, 100)
    answered, bench.cluster.end_offsets = bench.cluster.end_offsets, fail
    bench.poll()
    assert lag(bench) is None
    bench.cluster.end_offsets = answered
    bench.poll()
    assert catching_up(bench) == CatchUp(0, 1, 0.0, 0.0)


def test_the_number_of_distinct_requested_partitions_is_bounded(bench, monkeypatch):
    monkeypatch.setattr(module, "ENDS_MAX", 2)
    bench.views = [view("g1", {"t": (0, 1)}), view("g2", {"t": (0, 1)}), view("g3", {"u": (0,)})]
    assert list(bench.poll()) == ["g1", "g2"]
    assert bench.context.meters.of("loads_left_out") == [(1,)]
