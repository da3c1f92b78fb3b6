"""The rebalances that count in histories with gaps or in parts."""

from collections import Counter
from dataclasses import replace

import pytest

from rebalance_agent.advice import fidelity, history_of, merged, outcomes, recommend, what_if
from rebalance_agent.advice.figures import Figures, Replayed
from rebalance_agent.advice.replay.eligible_strategies import ReplaySettings
from rebalance_agent.assignors import STRATEGIES, judgement, strategy
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription, TopicMetadata
from support.tracker.histories import clustered, on_hosts


def outcome(found, name):
    return next(each for each in found.outcomes if each.strategy == name).figures


def made_again(events):
    """A group's events, and after its deletion the same events with new members."""
    later = events[-1].timestamp_ms - events[0].timestamp_ms + 60_000
    again = [
        replace(
            each,
            event_id=f"again-{each.event_id}",
            timestamp_ms=each.timestamp_ms + later,
            phases=replace(
                each.phases,
                started_ms=each.phases.started_ms + later,
                joined_ms=each.phases.joined_ms + later,
                completed_ms=each.phases.completed_ms + later,
            ),
            members=tuple(replace(one, member_id=f"again-{one.member_id}") for one in each.members),
        )
        for each in events
    ]
    return [*events, *again]


def test_a_recreated_group_has_no_moves():
    events = clustered(4)
    once, twice = (what_if(history_of(some)) for some in (events, made_again(events)))
    for name in ("sticky", "range", "shuffled-roundrobin", "cooperative-copartitioned-sticky"):
        one, two = outcome(once, name), outcome(twice, name)
        assert two.generations == 2 * one.generations
        assert two.stalls == 2 * one.stalls
        assert two.excess == 2 * one.excess
        if name != "shuffled-roundrobin":  # member names determine which member has one more
            assert two.moved == 2 * one.moved
    assert twice.recorded.moved == 2 * once.recorded.moved


def test_moves_across_a_missing_generation_are_not_counted():
    events = clustered(8)
    gap = what_if(history_of([*events[:3], *events[4:]]))
    parts = merged([what_if(history_of(some)) for some in (events[:3], events[4:])])
    assert gap.recorded.moved == parts.recorded.moved
    assert outcome(gap, "sticky").moved == outcome(parts, "sticky").moved


def test_the_lead_in_is_replayed_but_not_counted():
    events = clustered(8)
    whole = what_if(history_of(events))
    lead = history_of(events[2:], [each.event_id for each in events[2:4]])
    parts = merged([what_if(history_of(events[:4])), what_if(lead)])
    assert parts.recorded.generations == whole.recorded.generations
    for name in ("roundrobin", "range"):  # its decisions do not depend on earlier ones
        assert outcome(parts, name).moved == outcome(whole, name).moved
    assert outcome(parts, "roundrobin").moved > outcome(parts, "range").moved
    assert parts.recorded.moved == whole.recorded.moved
    first, second = fidelity(history_of(events[:4])).lines[0], fidelity(lead).lines[0]
    assert (first + second) == fidelity(history_of(events)).lines[0]


def test_an_event_after_a_change_of_the_assignor_names_the_new_one():
    old = clustered(8)
    begin = old[-1].timestamp_ms + 60_000
    new = [
        replace(
            each,
            event_id=f"new-{each.event_id}",
            timestamp_ms=each.timestamp_ms - old[0].timestamp_ms + begin,
            generation=each.generation + 8,
            episode_generation=each.generation + 8,
            previous_generation=each.generation + 7,
        )
        for each in clustered(8, name="cooperative-sticky")
    ]
    found = what_if(history_of([*old, *new]))
    assert (found.assignor, found.recorded.generations, found.recorded.skew_mean) == ("cooperative-sticky", 8, 1.0)
    assert recommend(found).strategy is None


def test_the_last_part_of_a_history_may_be_empty():
    whole, nothing = what_if(history_of(clustered(8))), what_if(history_of([]))
    assert merged([whole, nothing]) == whole
    assert merged([nothing]) == nothing


def test_parts_before_a_change_of_assignor_or_type_do_not_count():
    by_range, sticky = (what_if(history_of(clustered(8, name=name))) for name in ("range", "sticky"))
    assert merged([by_range, sticky]) == sticky
    assert merged([sticky, by_range, sticky]) == sticky
    assert merged([replace(sticky, group_type=GroupType.CONSUMER), sticky]) == sticky
    assert merged([sticky, sticky]).recorded.generations == 16


def test_the_spread_over_hosts_is_measured_for_the_records_and_each_strategy():
    history = history_of(on_hosts(rebalances=3))
    found = what_if(history, ["roundrobin", "shuffled-roundrobin"])
    assert (found.host_spread.topics, found.host_spread.on_one_host, found.host_spread.hosts) == (80, 80, 4)
    assert (found.recorded.clustered_mean, found.predicted.clustered_mean) == (1, 1)
    assert [each.figures.clustered_mean for each in found.outcomes] == [1, 0]
    assert merged([found, found]).recorded.spreads == 6


def test_the_spread_after_a_restart_of_all_members_is_measured_separately():
    events = on_hosts("shuffled-roundrobin", hosts=2, each=2, partitions=2, rebalances=5, late=1)
    found = what_if(history_of(events), ["cooperative-sticky", "sticky"])
    assert [each.figures.clustered_mean for each in found.outcomes] == [0, 0]
    assert [each.spread_anew.clustered for each in found.outcomes] == [80, 80]
    assert found.spread_anew.clustered == 0  # includes the group's own strategy, although it was not requested
    assert merged([found, found]).outcomes[0].spread_anew == found.outcomes[0].spread_anew
    one_host = ReplaySettings(hosts=HostNames.parse("g=(application).*"))
    other = what_if(history_of(events), ["sticky", "shuffled-roundrobin"], one_host)
    assert [each.spread_anew for each in other.outcomes] == [None, None]
    assert other.spread_anew is None
    assert what_if(history_of([replace(each, assignor="theirs") for each in events])).spread_anew is None


def test_each_spread_is_measured_once_per_recorded_assignment_and_strategy(monkeypatch):
    counts = Counter()

    def counted(name):
        wrapped = getattr(outcomes, name)

        def count(*arguments):
            counts[name] += 1
            return wrapped(*arguments)

        monkeypatch.setattr(outcomes, name, count)

    counted("recorded_spread")
    counted("spread_anew")
    what_if(history_of(on_hosts(rebalances=3)), ["cooperative-sticky", "sticky", "roundrobin"])
    assert counts == {"recorded_spread": 3, "spread_anew": 2}


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_recorded_spread_equals_the_trackers(name):
    history = history_of(on_hosts(name, topics=20))
    event = history.generations[-1]
    assigned = {each.member_id: each.assigned for each in event.members}
    members = tuple(MemberSubscription(each.member_id, each.topics) for each in event.members)
    subject = GroupSubscription({topic: TopicMetadata(count) for topic, count in event.topics.items()}, members)
    hosts = {each.member_id: each.host for each in event.members}
    judged = judgement(subject, GroupAssignment(assigned, assigned), strategy(name), hosts)
    assert what_if(history, ["range"]).host_spread == judged.host_spread
    assert (judged.host_spread is None) is ("failover" in name)


def test_the_definition_of_a_host_is_configurable():
    history = history_of(on_hosts(hosts=2, topics=40))
    one = ReplaySettings(hosts=HostNames.parse("g=(application).*"))
    assert what_if(history, ["range"], one).host_spread is None
    assert what_if(history, ["range"], one).recorded.clustered_mean is None
    two = ReplaySettings(hosts=HostNames.parse(r"g=application(\d+)"))
    assert what_if(history, ["range"], two).host_spread.hosts == 2


def test_partitions_that_wait_for_a_restart_count_even_with_an_unknown_stall():
    line = Replayed(1, 0, 0, 0, 0, 1.0, 0, None)
    stalled = replace(line, stalled_partition_seconds=60.0)
    found = Figures.of(line, avoided=True, waited=50.0) + Figures.of(stalled, avoided=True, waited=0.0)
    assert (found.avoided, found.avoided_partition_seconds, found.waited_partition_seconds) == (1, 60.0, 50.0)
