"""The exact output of `explain` for whole histories of a real tracker.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes the files.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_agent.model.episode import Basis, Evidence, Phases, Source, Stall, Trigger
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.observations import MemberReported
from rebalance_agent.tracking.tracker import Tracker
from support.observer.explaining import explain
from support.observer.fakes import generation_event
from support.tracker.tracking import T0, assigned, left, listed, member, record, revoked, said, tick, topics

FOLDER = Path(__file__).parent / "explain"


def reported(*observations, settle_ms=1_000):
    """The events of a tracker, and the members' reports, in order."""
    tracker, events = Tracker("cluster", settle_ms=settle_ms), []
    for each in observations:
        events += tracker.observe(each)
        if isinstance(each, MemberReported):
            events.append(each.event)
    return events


def in_pod(report, pod):
    return MemberReported(report.at_ms, replace(report.event, where=Workload(pod=pod, node="node-7")))


def slow_callback():
    """All members report; b's revoked callback takes five seconds."""
    a, b, c = "aaaa", "bbbb", "cccc"
    return reported(
        topics(0, t=6),
        record(1_000, 1, member(a, [0, 1, 2]), member(b, [3, 4, 5])),
        in_pod(assigned(a, 1_000, 1_001, 1, [0, 1, 2]), "orders-0"),
        in_pod(assigned(b, 1_000, 1_001, 1, [3, 4, 5]), "orders-1"),
        tick(8_000),
        listed(9_900),
        listed(10_000, "g"),
        in_pod(revoked(a, 10_050, 10_060, 1, [0, 1, 2]), "orders-0"),
        in_pod(revoked(b, 10_070, 15_070, 1, [3, 4, 5]), "orders-1"),
        listed(15_080, "g"),
        record(15_100, 2, member(a, [0, 1]), member(b, [3, 4]), member(c, [2, 5]), joined=15_080),
        in_pod(assigned(a, 15_105, 15_110, 2, [0, 1]), "orders-0"),
        in_pod(assigned(b, 15_105, 15_111, 2, [3, 4]), "orders-1"),
        in_pod(assigned(c, 15_105, 15_120, 2, [2, 5]), "orders-2"),
        listed(15_200),
        tick(40_000),
    )


def behind_a_gateway():
    """A gateway reports the members of a slow callback, whose client pushed its duration later."""
    a, b, c = "aaaa", "bbbb", "cccc"
    slow = by_gateway(revoked(b, 15_070, 15_070, 1, [3, 4, 5]), stop_seconds=5.05)
    frames = [by_gateway(revoked(a, 10_060, 10_060, 1, [0, 1, 2]), stop_seconds=0.05), slow]
    owners = {a: [0, 1], b: [3, 4], c: [2, 5]}
    return reported(
        topics(0, t=6),
        record(1_000, 1, member(a, [0, 1, 2]), member(b, [3, 4, 5])),
        by_gateway(assigned(a, 1_000, 1_010, 1, [0, 1, 2])),
        by_gateway(assigned(b, 1_000, 1_010, 1, [3, 4, 5])),
        tick(8_000),
        listed(9_900),
        listed(10_000, "g"),
        *frames,
        listed(15_080, "g"),
        record(15_100, 2, *(member(each, owned) for each, owned in owners.items()), joined=15_080),
        *(by_gateway(assigned(each, 15_105, 15_130, 2, owned)) for each, owned in owners.items()),
        listed(15_200),
        tick(40_000),
        said_at(45_000, replace(slow.event, callback_seconds=4.98, revision=1)),
        tick(60_000),
    )


def by_gateway(report, stop_seconds=None):
    return MemberReported(report.at_ms, replace(report.event, evidence=Evidence.GATEWAY, stop_seconds=stop_seconds))


def said_at(at_ms, event):
    return MemberReported(T0 + at_ms, event)


def too_slow():
    """b is removed during its revoked callback of 12 s, because its session expires; it rejoins at once."""
    a, b, c = "aaaa", "bbbb", "cccc"
    return reported(
        topics(0, t=6),
        record(1_000, 1, member(a, [0, 1, 2]), member(b, [3, 4, 5])),
        in_pod(assigned(a, 1_000, 1_001, 1, [0, 1, 2]), "orders-0"),
        in_pod(assigned(b, 1_000, 1_001, 1, [3, 4, 5]), "orders-1"),
        tick(8_000),
        listed(9_900),
        listed(10_000, "g"),
        in_pod(revoked(a, 10_050, 10_060, 1, [0, 1, 2]), "orders-0"),
        listed(20_550, "g"),
        record(20_600, 2, member(a, [0, 1, 2]), member(c, [3, 4, 5]), joined=20_590),
        in_pod(assigned(a, 20_610, 20_620, 2, [0, 1, 2]), "orders-0"),
        in_pod(assigned(c, 20_610, 20_620, 2, [3, 4, 5]), "orders-2"),
        in_pod(revoked(b, 10_070, 22_070, 1, [3, 4, 5]), "orders-1"),
        in_pod(said(Callback.LOST, b, 22_080, 22_090, 1, [3, 4, 5]), "orders-1"),
        listed(22_050),
        listed(22_150, "g"),
        in_pod(revoked(a, 22_200, 22_210, 2, [0, 1, 2]), "orders-0"),
        in_pod(revoked(c, 22_190, 22_200, 2, [3, 4, 5]), "orders-2"),
        record(22_400, 3, member(a, [0, 1]), member("b2", [2, 3], client="client-bbbb"), member(c, [4, 5])),
        in_pod(assigned(a, 22_410, 22_420, 3, [0, 1]), "orders-0"),
        in_pod(assigned("b2", 22_410, 22_420, 3, [2, 3]), "orders-1"),
        in_pod(assigned(c, 22_410, 22_420, 3, [4, 5]), "orders-2"),
        tick(60_000),
    )


def cooperative():
    """A member joins: its partitions are revoked first, and assigned by a follow-up."""
    name = "cooperative-sticky"
    before = (member("a", [0, 1, 2], owned=[0, 1, 2]), member("b", [3, 4, 5], owned=[3, 4, 5]))
    return reported(
        topics(0, t=6),
        record(1_000, 4, *before, protocol=name),
        tick(9_000),
        record(
            20_000,
            5,
            member("a", [0, 1], owned=[0, 1, 2]),
            member("b", [3, 4], owned=[3, 4, 5]),
            member("c"),
            protocol=name,
        ),
        record(
            20_300,
            6,
            member("a", [0, 1], owned=[0, 1]),
            member("b", [3, 4], owned=[3, 4]),
            member("c", [2, 5]),
            protocol=name,
        ),
        tick(400_000),
    )


def restart():
    """No member reports; one of two leaves and returns; the group is eager, and the second rebalance moves too much."""
    return reported(
        topics(0, t=6),
        record(1_000, 1, member("a1", [0, 1, 2], client="a"), member("b1", [3, 4, 5], client="b")),
        tick(9_000),
        listed(9_900),
        listed(10_000, "g"),
        listed(10_150),
        record(10_200, 2, member("a1", [0, 1, 2, 3, 4, 5], client="a"), joined=10_150),
        tick(19_000),
        listed(19_900),
        listed(20_000, "g"),
        listed(20_200),
        record(20_250, 3, member("a1", [3, 4, 5], client="a"), member("b2", [0, 1, 2], client="b"), joined=20_200),
        tick(60_000),
    )


def to_the_end():
    """A static member returns, a topic grows, a generation is aborted, a member fails, the others leave."""
    return reported(
        topics(0, t=4),
        record(1_000, 1, member("a1", [0, 1], instance="a"), member("b1", [2, 3], instance="b")),
        tick(9_000),
        record(20_000, 1, member("a2", [0, 1], instance="a"), member("b1", [2, 3], instance="b")),
        tick(29_000),
        topics(30_000, t=6),
        record(31_000, 2, member("a2", [0, 1, 4], instance="a"), member("b1", [2, 3, 5], instance="b")),
        tick(39_000),
        record(50_000, 4, member("a2", [0, 1, 2, 3, 4], instance="a")),
        left("a2", 59_000, 4),
        record(60_000, 5),
        tick(400_000),
    )


def hostile():
    """Names with control sequences."""
    name = "\x1b[31mred\nline\u202e"
    return reported(
        topics(0, t=2),
        record(1_000, 1, member("a", [0, 1], client=name)),
        tick(9_000),
        record(20_000, 2, member("a", [0], client=name), member("b" * 20, [1], client=name)),
        tick(40_000),
    )


def epochs():
    """A consumer group (KIP-848): the coordinator takes partitions from one member and gives them to another."""
    usual = {"group_type": GroupType.CONSUMER, "epoch_kind": "group_epoch", "assignor": "uniform"}
    usual |= {"protocol": RebalanceProtocol.COOPERATIVE, "noop": False, "topics": {"t": 4}}
    one, two = (MemberSnapshot(f"{name}-id", None, name, "/10.0.0.1", ("t",), {}, {}) for name in ("one", "two"))
    before = generation_event(
        event_id="a", generation=3, members=(replace(one, assigned={"t": (0, 1, 2, 3)}),), **usual
    )
    after = generation_event(
        event_id="b",
        generation=5,
        previous_generation=3,
        episode_generation=4,
        timestamp_ms=T0 + 6_000,
        followups=1,
        phases=Phases(T0 + 6_000, Evidence.RECORD, T0, Evidence.RECORD, T0 + 900, Evidence.RECORD),
        trigger=Trigger.MEMBER_JOINED,
        causes=(Trigger.MEMBER_JOINED,),
        stall=Stall(1.2, 1.1, 2.3, Basis.BOUND),
        members=(replace(one, assigned={"t": (0, 1)}), replace(two, assigned={"t": (2, 3)})),
        moved=2,
        needed=2,
        slowest_member_id="one-id",
        slowest_seconds=4.2,
        **usual,
    )
    return [before, after]


def rollout():
    """The same restart, recognised as a deploy."""
    deploy = RolloutEvent(
        event_id="d" * 32,
        cluster_id="cluster",
        group="g",
        timestamp_ms=T0 + 21_000,
        source=Source.RECORDS,
        group_type=GroupType.CLASSIC,
        started_ms=T0 + 10_000,
        first_generation=2,
        last_generation=3,
        closed=True,
        rebalances=2,
        members=2,
        members_replaced=1,
        stalled_partition_seconds=1.2,
        workload="orders",
        from_images=("orders:1",),
        to_images=("orders:2",),
    )
    return [*restart(), deploy]


HISTORIES = (slow_callback, behind_a_gateway, too_slow, cooperative, restart, to_the_end, hostile, epochs, rollout)


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_the_text_equals_the_golden_file(history):
    text, golden = explain(history(), last=10), FOLDER / f"{history.__name__}.txt"
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_control_characters_in_names_are_not_printed(history):
    assert all(line.isprintable() for line in explain(history(), last=10).splitlines())


def test_only_the_last_rebalances_are_reported_with_names_of_the_previous_one():
    text = explain(restart(), last=1)
    assert "generation 3" in text
    assert "generation 2 " not in text
    assert "b (10.0.0.2) joined" in text


def test_without_events_the_text_is_empty():
    assert explain([]) == "\n"


def because(report, reason):
    return MemberReported(report.at_ms, replace(report.event, reason=reason))


def test_the_reason_of_a_rejoin_is_reported_literally():
    one = member("a", [0, 1])
    events = reported(
        topics(0, t=2),
        record(1_000, 1, one),
        because(assigned("a", 1_000, 1_001, 1, [0, 1]), "initialized"),
        tick(9_000),
        record(20_000, 2, one),
        because(assigned("a", 20_000, 20_001, 2, [0, 1]), "cached metadata has changed"),
        tick(60_000),
    )
    assert "members rejoined although nothing had changed (cached metadata has changed)." in explain(events, last=1)


def test_the_reason_of_a_join_is_not_used_for_a_leave():
    both = member("a", [0]), member("b", [1])
    events = reported(
        topics(0, t=2),
        record(1_000, 1, *both),
        because(assigned("b", 1_000, 1_001, 1, [1]), "initialized"),
        tick(9_000),
        because(left("b", 19_000, 1), "it is being closed"),
        record(20_000, 2, member("a", [0, 1])),
        tick(60_000),
    )
    text = " ".join(explain(events, last=1).split())
    assert "left (it is being closed)" in text
    assert "initialized" not in text
