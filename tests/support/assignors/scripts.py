"""Scripts for the coordinator's model, and the rules for every timeline."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation import (
    Crash,
    Delete,
    Join,
    Leave,
    SimulatedMember,
    SimulationSettings,
    Subscribe,
    TopicGrows,
)

TOPICS = {"t": TopicMetadata(5), "u": TopicMetadata(3)}
LISTS = (
    ("range",),
    ("roundrobin", "range"),
    ("weighted-sticky",),
    ("range", "weighted-sticky"),
    ("cooperative-weighted-sticky",),
    ("cooperative-weighted-sticky", "range"),
    ("failover", "cooperative-failover"),
)


@st.composite
def simulated_members(draw, name, lists=LISTS):
    durations = st.sampled_from([0, 0, 10, 700, 4_000])
    heartbeat_ms = draw(st.sampled_from([100, 3_000]))
    return SimulatedMember(
        name,
        topics=draw(st.sampled_from([("t",), ("t", "u"), ("u",), ("unknown",)])),
        strategies=draw(st.sampled_from(lists)),
        instance_id=draw(st.sampled_from([None, None, name.upper()])),
        processing_ms=draw(st.sampled_from([0, 0, 500, 7_000, 40_000])),
        revoked_ms=draw(durations),
        assigned_ms=draw(durations),
        assign_ms=draw(durations),
        heartbeat_interval_ms=heartbeat_ms,
        session_timeout_ms=heartbeat_ms * draw(st.integers(2, 8)),
        rebalance_timeout_ms=draw(st.sampled_from([1_000, 30_000, 300_000])),
    )


@st.composite
def scripts(draw, lists=LISTS, steps_max=14):
    """Scripts in which members join, leave and change, close together or far apart."""
    names = [f"m{number}" for number in range(draw(st.integers(1, 5)))]
    present, steps, at_ms = set(), [], 0
    for _ in range(draw(st.integers(1, steps_max))):
        at_ms += draw(st.sampled_from([0, 1, 90, 2_500, 60_000]))
        name = draw(st.sampled_from(names))
        if name not in present:
            steps.append(Join(at_ms, draw(simulated_members(name, lists))))
            present.add(name)
            continue
        kind = draw(st.sampled_from(["leave", "crash", "subscribe", "grow", "delete"]))
        if kind == "subscribe":
            steps.append(Subscribe(at_ms, name, draw(st.sampled_from([("t",), ("u",), ("t", "u")]))))
        elif kind == "grow":
            steps.append(TopicGrows(at_ms, draw(st.sampled_from(["t", "u", "unknown"])), draw(st.integers(5, 9))))
        elif kind == "delete":
            steps.append(Delete(at_ms))
        else:
            steps.append((Leave if kind == "leave" else Crash)(at_ms, name))
            present.remove(name)
    return steps


def all_settings():
    return st.builds(
        SimulationSettings,
        initial_rebalance_delay_ms=st.sampled_from([0, 500, 3_000]),
        latency_ms=st.sampled_from([0, 1, 40]),
        patience_ms=st.just(600_000),
    )


def owners_over_time(timeline):
    """(time, partition -> owners) after every change of ownership."""
    owners = {}
    for each in timeline.handovers:
        for partition in pairs(each.partitions):
            here = owners.setdefault(partition, set())
            assert (each.member in here) != each.took, "no member starts or stops a partition twice"
            (here.add if each.took else here.remove)(each.member)
        yield each.at_ms, owners


def check(timeline):
    """Check the rules for every timeline."""
    if not any(each.state == "Dead" for each in timeline.states):  # the numbers of a recreated group restart
        rounds = sorted((*timeline.generations, *timeline.aborted), key=lambda each: each.number)
        for kind in (timeline.generations, timeline.aborted, rounds):
            assert all(one.number < two.number for one, two in itertools.pairwise(kind))
            assert all(one.joined_ms <= two.start_ms for one, two in itertools.pairwise(kind))
    for kind in (timeline.states, timeline.handovers, timeline.refusals, timeline.replacements):
        moments = [each.at_ms for each in kind]
        assert moments == sorted(moments)
    for each in timeline.generations:
        assert each.start_ms <= each.joined_ms <= each.synced_ms <= timeline.end_ms
        assert each.assignment.keys() == each.members.keys()
        assert (each.leader in each.members) == bool(each.members) == (each.strategy is not None)
        given = [pair for owned in each.assignment.values() for pair in pairs(owned)]
        assert len(given) == len(set(given))
        assert all(joined <= each.joined_ms for joined in each.joins.values())
    for each in timeline.stalls:
        assert each.partitions
        assert each.resumed_ms is None or each.stopped_ms < each.resumed_ms <= timeline.end_ms
    for _, owners in owners_over_time(timeline):
        assert all(len(each) <= 1 for each in owners.values())
