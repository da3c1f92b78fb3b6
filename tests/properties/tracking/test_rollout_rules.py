"""Invariants of rollouts and flapping members, for any steps of members."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns.flapping import RETURNS
from rebalance_agent.tracking.patterns.rollout_evidence import Proof, ReplacedMember, is_rollout
from rebalance_agent.tracking.tracker import Tracker
from support.examples import examples
from support.tracker.deploys import Group

NAMES = [f"m{number}" for number in range(8)]
STEPS = st.lists(
    st.tuples(st.integers(1, 400), st.sets(st.sampled_from(NAMES), max_size=3), st.booleans()), min_size=1, max_size=25
)


def lived(steps, static):
    group = Group(*NAMES[:4], static=static)
    for seconds, names, restart in steps:
        gone = [name for name in sorted(names) if name in group.there]
        come = [name for name in sorted(names) if name not in group.there]
        group.step(seconds, come=come + (gone if restart else []), gone=gone)
    group.wait(3 * 3600)
    return group


@settings(max_examples=examples(60))
@given(STEPS, st.booleans())
def test_rollouts_are_sound(steps, static):
    group = lived(steps, static)
    reported = [event for event in group.events if isinstance(event, RolloutEvent)]
    closing = [event for event in group.events if isinstance(event, GenerationEvent) and event.revision == 0]
    for event in reported:
        inside = [each for each in closing if event.first_generation <= each.generation <= event.last_generation]
        assert event.members_replaced >= 1
        assert event.started_ms <= event.timestamp_ms
        assert event.rebalances == len(inside)
        stalled = sum(each.stall.partition_seconds for each in inside if each.stall)
        assert abs(event.stalled_partition_seconds - stalled) < 1e-6
    for first, second in zip(group.rollouts, group.rollouts[1:], strict=False):
        assert first.last_generation < second.first_generation
    assert all(event.closed for event in group.rollouts)
    assert group.view.flapping == ()


@settings(max_examples=examples(30))
@given(STEPS, st.booleans())
def test_equal_observations_give_equal_events(steps, static):
    group = lived(steps, static)
    again = Tracker("cluster", settle_ms=5_000)
    assert [event for observation in group.reported for event in again.observe(observation)] == group.events


@settings(max_examples=examples(30))
@given(st.lists(st.sampled_from(NAMES), unique=True, max_size=8), st.integers(10, 200))
def test_a_member_that_joins_or_leaves_once_neither_flaps_nor_is_a_rollout(names, seconds):
    group = Group(*NAMES[:4])
    for name in names:
        there = name in group.there
        group.step(seconds, come=[] if there else [name], gone=[name] if there else [])
        group.wait(301)  # longer than a replacement takes
        assert group.view.flapping == ()
    assert group.rollouts == []


@settings(max_examples=examples(20))
@given(st.integers(0, RETURNS + 2), st.integers(10, 60))
def test_one_member_flaps_from_its_third_return_on_and_is_never_a_rollout(returns, seconds):
    group = Group(*NAMES)
    for _ in range(returns):
        group.restart(NAMES[0], seconds)
    group.wait(6)
    assert len(group.view.flapping) == (returns >= RETURNS)
    assert group.rollouts == []


REPLACED = st.lists(
    st.builds(ReplacedMember, st.sampled_from([*NAMES, "m10"]), st.integers(0, 20), st.sampled_from([*Proof])),
    max_size=12,
)


@settings(max_examples=examples(200))
@given(st.integers(1, 12), REPLACED, st.integers(1, 10_000))
def test_a_rollout_is_of_most_members_or_of_new_versions_whenever_it_happens(members, replaced, later_ms):
    found = is_rollout(members, replaced)
    versions = [each for each in replaced if each.proof is Proof.NEW_VERSION]
    if found:
        assert len(versions) >= min(members // 2 + 1, 5) or len({each.name for each in replaced}) > members / 2
    shifted = [ReplacedMember(each.name, each.departed_ms + later_ms, each.proof) for each in replaced]
    assert is_rollout(members, shifted) is found
    assert is_rollout(members, [*replaced, *[ReplacedMember("x", 0, Proof.NEW_VERSION)] * 5])


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(1, 200), st.integers(0, 9), st.booleans()), max_size=30), st.booleans())
def test_kills_and_joins_of_members_without_names_in_common_are_never_a_rollout(steps, shared):
    group = Group("0", "1", "2", client="consumer-orders-1" if shared else "orders-{name}")
    for number, (seconds, pick, joins) in enumerate(steps):
        there = sorted(group.there)
        gone = there[pick % len(there) :][:1] if len(there) > 1 else []
        group.step(seconds, come=[f"new{number}"] if joins or not gone else [], gone=gone)
    group.wait(3 * 3600)
    assert [event for event in group.events if isinstance(event, RolloutEvent)] == []
    assert not group.view.rollout_in_progress
