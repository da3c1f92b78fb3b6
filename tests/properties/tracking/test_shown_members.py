"""A view updated member by member equals the view built from all records at once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    ResolvedPattern,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import GroupState, GroupType, Member, StreamsMember, TaskKind
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.build_view import build_view
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords
from rebalance_agent.tracking.epoch.recorded_group import RecordedGroup
from rebalance_agent.tracking.evidence.poll_evidence import ClockOffset, PollEvidence
from rebalance_agent.tracking.members.measured_quality import measure_quality
from rebalance_agent.tracking.members.shown_members import ShownMembers
from rebalance_agent.tracking.observations import TopicsSeen
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.tracker_context import TrackerContext
from support.examples import examples
from support.tracker.epochs import ID, fact
from support.tracker.tracking import T0, WHOLE, feed, topics

OTHER_ID = "yNisCZDKRhC5aWJ3a-s-yA"
NAMES = st.sampled_from(("a", "b", "c"))
KEYS = st.sampled_from((ID, OTHER_ID, "0"))
ASSIGNED = st.dictionaries(KEYS, st.sets(st.integers(0, 5), min_size=1).map(lambda numbers: tuple(sorted(numbers))))
TOPICS = st.sets(st.sampled_from(("t", "u", "gone"))).map(lambda names: tuple(sorted(names)))
TYPES = st.sampled_from((GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS))

JOINS = st.builds(
    EpochMember,
    client_id=st.sampled_from(("c1", "c2")),
    client_host=st.just("/h"),
    instance_id=st.sampled_from((None, "i")),
    topics=TOPICS,
    pattern=st.sampled_from((None, "t.*")),
    rebalance_timeout_ms=st.sampled_from((-1, 1_000, 60_000)),
    assignor=st.sampled_from((None, "uniform", "range")),
    process=st.sampled_from((None, "p")),
    endpoint=st.sampled_from((None, "h:1", "h:2")),
)
CURRENTS = st.builds(
    CurrentAssignment,
    epoch=st.sampled_from((1, 1, 2, -1)),
    previous_epoch=st.just(0),
    state=st.sampled_from((MemberState.STABLE, MemberState.UNREVOKED)),
    assigned=ASSIGNED,
    revoking=ASSIGNED,
    standbys=st.sampled_from(({}, {"0": (1,)})),
    warmups=st.sampled_from(({}, {"0": (1,)})),
)
RECORDS = st.one_of(
    st.tuples(NAMES, JOINS),
    st.tuples(NAMES, CURRENTS),
    st.tuples(NAMES, CURRENTS),
    st.tuples(NAMES, st.sampled_from((EpochMember, CurrentAssignment))),
    st.tuples(st.just("t.*"), TOPICS.map(ResolvedPattern)),
    st.tuples(st.just(""), st.dictionaries(st.just("0"), TOPICS, max_size=1).map(Topology)),
    st.tuples(st.just(""), st.integers(1, 3).map(GroupEpoch)),
    st.tuples(st.just(""), st.integers(1, 3).map(TargetEpoch)),
)
SIZES = st.dictionaries(st.sampled_from(("t", "u")), st.integers(1, 6))
STEPS = st.lists(st.tuples(RECORDS | SIZES, st.sampled_from((None, True, False))), min_size=5, max_size=30)
"""Records and the cluster's topics; and whether a view is then requested, with or without quality."""


def _observation(at, step, group_type):
    if isinstance(step, dict):
        ids = {topic: topic_id for topic, topic_id in (("t", ID), ("u", OTHER_ID)) if topic in step}
        return replace(topics(at, **step), ids=ids)
    subject, value = step
    kind, value = (value, None) if isinstance(value, type) else (type(value), value)
    return fact(at, value, subject, kind, group_type=group_type)


@settings(max_examples=examples(200))
@given(STEPS, TYPES)
def test_a_view_does_not_depend_on_earlier_views(steps, group_type):
    often, once = (Tracker("c", host_names=HostNames()) for _ in range(2))
    begin = [replace(topics(0, t=4), ids={"t": ID}), WHOLE, fact(1, GroupEpoch(1), group_type=group_type)]
    for tracker in (often, once):
        feed(tracker, *begin)
    for at, (step, judged) in enumerate(steps, start=2):
        for tracker in (often, once):
            tracker.observe(_observation(10 * at, step, group_type))
        if judged is not None:
            often.view("g", judged=judged)
    assert _shown(often) == _shown(once)


@settings(max_examples=examples())
@given(STEPS, TYPES)
def test_members_updated_one_by_one_equal_those_of_all_records(steps, group_type):
    cluster_topics, taken, changed = ClusterTopics(), [], EpochGroupRecords()
    shown = RecordedGroup("g", group_type, changed, cluster_topics)
    for at, (step, _) in enumerate(steps):
        observation = _observation(at, step, group_type)
        if isinstance(observation, TopicsSeen):
            cluster_topics.update(at, observation.partitions, observation.ids)
        else:
            taken.append(observation)
            changed.take(observation)
        anew = EpochGroupRecords()
        for record in taken:
            anew.take(record)
        expected = RecordedGroup("g", group_type, anew, cluster_topics)
        assert shown.generation(at, at) == expected.generation(at, at)
        assert _view_of(shown, at) == _view_of(expected, at)


def _view_of(recorded, at):
    context = TrackerContext("c", 0, PollEvidence(0), ClockOffset(), ClusterTopics(), Copartitioned())
    context.topics.update(at, {})
    generation = recorded.generation(at, at)
    quality = measure_quality(generation, {}, at)
    return build_view(generation, recorded.members, quality, GroupState.STABLE, context)


def _shown(tracker):
    view = tracker.view("g")
    # The time of a request changes neither of these counts, which continue from there.
    return view and replace(view, judged_version=0, unowned=None, counted_until_ms=T0)


MEMBERS = st.builds(
    Member,
    member_id=NAMES,
    instance_id=st.sampled_from((None, "i")),
    client_id=st.just("c"),
    client_host=st.just("/h"),
    rebalance_timeout_ms=st.sampled_from((-1, 1_000, 60_000)),
    session_timeout_ms=st.just(1),
    subscription=st.none() | TOPICS.map(lambda names: ConsumerSubscription(0, names)),
    assignment=st.none() | ASSIGNED.map(lambda assigned: ConsumerAssignment(0, assigned)),
    streams=st.none() | st.builds(StreamsMember, st.just("p"), st.none(), ASSIGNED, ASSIGNED, ASSIGNED),
)


@settings(max_examples=examples())
@given(st.lists(st.one_of(MEMBERS, NAMES, st.dictionaries(NAMES, st.integers(0, 2)), st.none()), max_size=30))
def test_counts_over_members_are_those_of_their_definition(steps):
    shown, members, targets = ShownMembers(), {}, {}
    for step in steps:
        if isinstance(step, Member):
            shown.put(step)
            members[step.member_id] = step
        elif isinstance(step, str):
            shown.remove(step)
            members.pop(step, None)
        elif step is None:
            assert len(shown.loads) == len(shown.members) >= bool(shown.topics)
        else:
            shown.aim(step)
            targets = step
    each = [members[name] for name in sorted(members)]
    assert list(shown.members) == each
    assert [(load.member_id, load.assigned, load.target) for load in shown.loads] == [
        (member.member_id, member.assigned, targets.get(member.member_id)) for member in each
    ]
    assert [load.streams for load in shown.loads] == [member.streams for member in each]
    assert shown.streams_tasks == {
        kind: sum(count_partitions(member.streams.tasks[kind]) for member in each if member.streams)
        for kind in TaskKind
    }
    assert shown.static == sum(member.instance_id is not None for member in each)
    assert shown.rebalance_timeout_ms == max((member.rebalance_timeout_ms for member in each), default=0)
    assert shown.topics == {
        topic for member in each for topic in (member.subscription.topics if member.subscription else member.assigned)
    }
    owned = {(topic, number) for member in each for topic, numbers in member.assigned.items() for number in numbers}
    counts = {topic: max(number for name, number in owned if name == topic) + 1 for topic, _ in owned}
    assert shown.assigned_counts == counts
    assert shown.served({ID: 3, "t": 1}) == sum(topic == ID and number < 3 for topic, number in owned)
    assert shown.served(counts) == count_partitions({topic: [n for t, n in owned if t == topic] for topic in counts})
