"""The tracker can produce every metric of the group catalogue, with each of its closed label values.

Other tests use values written by hand. Here the tracker computes the values from histories: a row or a label value
without a history does not belong in the catalogue.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

import rebalance_agent
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.phase_metrics import PhaseMetrics
from rebalance_agent.metrics.group_metric import SeriesLimits
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.group_samples import group_samples, running_samples
from rebalance_agent.metrics.metric import MetricType
from rebalance_agent.metrics.phase_rows import PHASE_ROWS
from rebalance_agent.model.episode import Source
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    DescribedEpochs,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
)
from rebalance_agent.model.events import AssignEvent, Callback
from rebalance_agent.model.group import DeadLetterQueue, GroupState, GroupType
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent
from rebalance_agent.tracking.observations import (
    DeadLetterQueuesSeen,
    DescribedGroup,
    GroupDescribed,
    LoadsSeen,
    MemberReported,
)
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import MemberLoad, StallHistogram
from support.observer.scrapes import families
from support.tracker.epochs import current, fact, gone, joins, named, target
from support.tracker.tracking import (
    T0,
    WHOLE,
    assigned,
    feed,
    left,
    listed,
    member,
    record,
    revoked,
    said,
    tick,
    topics,
)

SOURCES = Path(rebalance_agent.__file__).parent

BEGIN = (topics(0, t=4, u=2), listed(900), record(1_000, 0), listed(3_800, "g"))
TWO = record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990)
ONE = member("a", (0, 1, 2, 3))


def next_generation(*members, protocol="range", reports=(), number=2):
    """A group of two members, and further observations."""
    return [
        *BEGIN,
        TWO,
        *reports,
        listed(29_000),
        listed(29_200, "g"),
        record(30_000, number, *members, protocol=protocol),
    ]


def failing_assign():
    event = AssignEvent(
        event_id=process_event_id("assign", "leader", 1),
        group="g",
        timestamp_ms=T0 + 20_000,
        assignor="range",
        client_id="client-a",
        generation=2,
        duration_seconds=0.1,
        members=2,
        partitions=4,
        process="leader",
        sequence=1,
        error="ValueError",
    )
    return [*BEGIN, TWO, MemberReported(T0 + 20_000, event)]


def in_rack(rack, one):
    return replace(one, subscription=replace(one.subscription, rack_id=rack))


def replaced():
    """Both members of a group return with new ids."""
    static = [member(name, part, instance=name[0]) for name, part in (("a-1", (0, 1)), ("b-1", (2, 3)))]
    back = [member("a-2", (0, 1), instance="a"), static[1]]
    both = [back[0], member("b-2", (2, 3), instance="b")]
    return [
        *BEGIN,
        record(4_000, 1, *static),
        *(record(at, 1, *members) for at, members in ((60_000, back), (120_000, both))),
        tick(130_000),
    ]


def restless(*, reports=False):
    """A member that leaves and returns three times; ``reports``: it reports each departure."""
    yield from (*BEGIN, TWO)
    for time in range(3):
        if reports:
            yield left("b", 19_500 + time * 40_000, 1 + 2 * time)
        yield record(20_000 + time * 40_000, 2 + 2 * time, ONE)
        yield record(40_000 + time * 40_000, 3 + 2 * time, member("a", (0, 1)), member("b", (2, 3)))


def exactly():
    """All members report when they stopped and resumed."""
    reports = [
        assigned("a", 4_010, 4_020, 1, (0, 1)),
        assigned("b", 4_010, 4_020, 1, (2, 3)),
        revoked("b", 29_010, 29_020, 1, (2, 3)),
        left("b", 29_030, 1),
        revoked("a", 29_300, 29_900, 1, (0, 1)),
    ]
    return [*next_generation(ONE, reports=reports), assigned("a", 30_010, 30_020, 2, (0, 1, 2, 3))]


def coop(at, number, *members):
    return record(at, number, *members, protocol="cooperative-sticky")


def followed_up():
    """A cooperative group moves two partitions, one more than its balance needs."""
    yield from (*BEGIN, coop(4_000, 1, ONE))
    yield coop(30_000, 2, member("a", (0, 1), owned=(0, 1, 2, 3)), member("b"))
    yield coop(30_100, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3)))
    yield coop(60_000, 4, member("a", (2, 3), owned=(2, 3)), member("b", (0, 1), owned=(0, 1)))


def coordinated(group_type):
    """Partition 1 moves to the other member, which was absent before."""
    facts = [
        joins(1_000, "a", rebalance_timeout_ms=30_000),
        fact(1_000, GroupEpoch(2)),
        target(1_000, "a", 0, 1),
        fact(1_000, TargetEpoch(2)),
        current(1_500, "a", 2, (0, 1)),
        joins(10_000, "b"),
        fact(10_000, GroupEpoch(3)),
        target(10_000, "a", 0),
        target(10_000, "b", 1),
        fact(10_500, TargetEpoch(3)),
        current(11_000, "a", 2, (0,), (1,), MemberState.UNREVOKED),
        current(12_000, "a", 3, (0,)),
        current(12_500, "b", 3, (1,)),
        *gone(30_000, "a"),
        *gone(30_000, "b"),
        fact(30_000, GroupEpoch(4)),
    ]
    yield from (WHOLE, named(t=2))
    yield from (type(each)(**{**_fields(each), "group_type": group_type}) for each in facts)


def dead_letters(*, copies_records):
    yield DeadLetterQueuesSeen(T0 + 40_000, {"g": DeadLetterQueue("dlq.t", copies_records)})


def _fields(observation):
    return {name: getattr(observation, name) for name in type(observation).__dataclass_fields__}


def streams():
    def write(at, value, subject=""):
        return fact(at, value, subject, group_type=GroupType.STREAMS)

    yield from (WHOLE, topics(0, t=2))
    yield write(1_000, EpochMember("client-a", "/10.0.0.1", process="p"), "a")
    for at, value in ((1_000, GroupEpoch(2)), (1_500, MemberTarget({"0": (0, 1)})), (1_600, TargetEpoch(2))):
        yield write(at, value, "a" if isinstance(value, MemberTarget) else "")
    copies = {"standbys": {"0": (0,)}, "warmups": {"0": (1,)}}
    yield write(2_000, CurrentAssignment(2, 0, MemberState.STABLE, {"0": (0, 1)}, **copies), "a")


def described():
    members = [MemberLoad(name, None, name, "/h", {"t": (0,)}) for name in "ab"]
    for at, some in ((1_000, members), (2_000, members[:1])):
        yield GroupDescribed(T0 + at, DescribedGroup("g", GroupState.STABLE, GroupType.CLASSIC, "range", tuple(some)))


def described_with_epochs():
    group = DescribedGroup("g", GroupState.EMPTY, GroupType.CONSUMER, "uniform", (), DescribedEpochs(1, 1, ()))
    return GroupDescribed(T0 + 1_000, group, T0 + 1_010)


def held_on():
    """A removed member revokes its partitions when another one has owned them for some time."""
    reports = [assigned("a", 4_010, 4_020, 1, (0, 1)), assigned("b", 4_010, 4_020, 1, (2, 3))]
    late = said(Callback.LOST, "b", 44_000, 44_010, 1, (2, 3))
    return [*next_generation(ONE, reports=reports), late]


def handed_over():
    """A gateway reports that another consumer has the seat of a member."""
    event_id, texts = process_event_id("seat", "gateway", 1), {"client_id": "client-z", "host": "10.0.0.9"}
    acts = Act.HANDOVER, ActOutcome.DONE
    event = SeatEvent(event_id, "g", T0 + 20_000, *acts, "b", "gateway", 1, **texts)
    return [*BEGIN, TWO, MemberReported(T0 + 20_000, event)]


HISTORIES = {
    "a first look": [topics(0, t=4), record(4_000, 7, ONE)],
    "one more, in a poll's sight": [*BEGIN, TWO, listed(9_000, "g", state=GroupState.COMPLETING_REBALANCE)],
    "were stalled": [*BEGIN, TWO, listed(9_000, "g", state=GroupState.COMPLETING_REBALANCE), record(109_000, 2, ONE)],
    "gone": next_generation(ONE),
    "left": next_generation(ONE, reports=[left("b", 29_100, 1)]),
    "fell silent": next_generation(ONE, reports=[assigned("b", 4_010, 4_020, 1, (2, 3))]),
    "too slow": next_generation(ONE, reports=[revoked("b", 29_300, 31_000, 1, (2, 3))]),
    "joined": next_generation(member("a", (0, 1)), member("b", (2,)), member("c", (3,))),
    "wants more": next_generation(member("a", (0, 1), topics=("t", "u")), member("b", (2, 3))),
    "another assignor": next_generation(member("a", (0, 1)), member("b", (2, 3)), protocol="sticky"),
    "a new topic": next_generation(member("a", {"t": (0, 1), "v": (0,)}, topics=("t", "v")), member("b", (2, 3))),
    "more partitions": next_generation(member("a", (0, 1)), member("b", (2, 3, 4))),
    "in another rack": next_generation(in_rack("b", member("a", (0, 1))), member("b", (2, 3))),
    "for nothing": next_generation(member("a", (0, 1)), member("b", (2, 3))),
    "for nothing, with numbers missing": next_generation(member("a", (0, 1)), member("b", (2, 3)), number=4),
    "an assign() that raised": failing_assign(),
    "replaced": replaced(),
    "restless": [*restless()],
    "leaves again and again": [*restless(reports=True)],
    "measured": exactly(),
    "held on": held_on(),
    "handed over": handed_over(),
    "followed up": [*followed_up()],
    "lagging": [*BEGIN, TWO, LoadsSeen(T0 + 9_000, {"g": GroupLoads({("t", 0): 5.0}, {("t", 1): 2.0})})],
    "side by side": [topics(0, t=4, u=4), record(4_000, 1, member("a", {"t": (0, 1), "u": (2, 3)}, topics=("t", "u")))],
    "badly spread": [topics(0, t=4), record(4_000, 1, member("a", (0, 1, 2, 3)), member("b"))],
    "on one host": [topics(0, t=2, u=2), record(4_000, 1, member("a", {"t": (0, 1)}), member("bb", {"u": (0, 1)}))],
    "emptied": [*next_generation(), tick(90_000), record(100_000, 3, ONE)],
    "partitions left out": [*next_generation(member("a", (0, 1))), tick(90_000), record(100_000, 3, ONE)],
    "polled": [*described()],
    "described with epochs": [described_with_epochs()],
    "led behind a gateway": [topics(0, t=2), replace(record(4_000, 1, ONE), source=Source.FRAMES)],
    "consumer": [*coordinated(GroupType.CONSUMER)],
    "share": [*coordinated(GroupType.SHARE)],
    "share with copies of what fails": [*coordinated(GroupType.SHARE), *dead_letters(copies_records=True)],
    "share with headers of what fails": [*coordinated(GroupType.SHARE), *dead_letters(copies_records=False)],
    "streams": [*streams()],
}
DECLARED = Copartitioned.parse("g=t,u")


def observed(history):
    """Samples after each observation, and all events."""
    tracker, samples, events = Tracker("cluster", copartitioned=DECLARED), [], []
    for observation in (*history, tick(700_000)):
        events += feed(tracker, observation)
        if view := tracker.view("g"):
            by_metric = dict(group_samples(view, SeriesLimits(max_topic_series=9)).by_metric)
            by_metric |= running_samples(view, view.counted_until_ms + 500)
            samples += [(metric, sample) for metric, some in by_metric.items() for sample in some]
    return samples, events


@pytest.fixture(scope="module")
def seen():
    """Metric -> its meaningful samples: counts, measurements, or the current state."""
    found = defaultdict(set)
    for history in HISTORIES.values():
        for metric, (labels, value) in observed(history)[0]:
            counted = sum(value.counts) if isinstance(value, StallHistogram) else value
            if counted or (metric.kind is MetricType.GAUGE and not metric.values):
                found[metric].add(labels)
    return found


@pytest.mark.parametrize("row", GROUP_ROWS, ids=lambda row: row.name)
def test_a_history_produces_each_row_and_each_value_of_its_labels(row, seen):
    assert seen[row], "no history produces it"
    for label, closed in row.values.items():
        assert {labels[row.labels.index(label) - 1] for labels in seen[row]} == set(closed), label


def test_a_history_produces_each_phase():
    metrics = PhaseMetrics()
    for history in HISTORIES.values():
        for event in observed(history)[1]:
            metrics.on_event(event)
    counts = {
        name: next(sample.value for sample in family.samples if sample.name.endswith("_count"))
        for name, family in families(metrics.text()).items()
    }
    assert counts.keys() == {row.name for row in PHASE_ROWS}
    assert all(counts.values()), counts


def _calls():
    """Names of all methods that are called anywhere in the agent."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                yield node.attr


def test_every_own_counter_of_the_agent_is_used():
    meters = {name for name in vars(AgentMetrics) if not name.startswith("_")}
    assert len(meters) > 10
    assert meters <= set(_calls())
