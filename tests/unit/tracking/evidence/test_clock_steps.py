"""An observer whose clock jumps by an hour continues to observe, and reports nothing false."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Evidence, Trigger
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.evidence.poll_evidence import CLOCK_JUMP_MS
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed
from rebalance_agent.tracking.views import MemberLoad
from support.tracker.tracking import (
    T0,
    assigned,
    closing,
    feed,
    left,
    listed,
    member,
    record,
    revoked,
    tick,
    topics,
    watch,
)

HOUR = 3_600_000
BEGIN = (topics(0, t=4), listed(900), record(1_000, 0), listed(3_800, "g"))
TWO = record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990)


def back(observation, by=-HOUR):
    """The same with the observer's clock after it was set back. The coordinator's clock is always right."""
    times = ("at_ms", "asked_ms", "answered_ms", "seen_ms")
    fields = type(observation).__dataclass_fields__
    return replace(observation, **{name: getattr(observation, name) + by for name in times if name in fields})


def since_then(*observations):
    return map(back, observations)


def test_a_rebalance_after_a_step_back_starts_when_polls_show_it():
    tracker, _ = watch(*BEGIN, TWO, tick(20_000))
    feed(tracker, *since_then(tick(20_100), listed(29_000), listed(29_200, "g"), listed(30_000, "g")))
    view = tracker.view("g")
    assert (view.state, view.running.started_ms) == (GroupState.PREPARING_REBALANCE, T0 + 29_000 - HOUR)
    end = record(34_100, 2, member("a", (0, 1, 2, 3)), joined=34_000)
    (event,) = closing(feed(tracker, *since_then(end, tick(50_000))))
    assert (event.phases.started_ms, event.phases.started_evidence) == (T0 + 29_000, Evidence.LIST)
    assert event.stall.lower_seconds <= 4.9 <= event.stall.seconds


def test_a_rebalance_running_at_a_step_back_keeps_its_start():
    tracker, _ = watch(*BEGIN, TWO, tick(20_000), listed(29_000), listed(29_200, "g"), tick(30_000))
    feed(tracker, *since_then(tick(30_000), listed(30_100, "g")))
    assert tracker.view("g").running.started_ms == T0 + 29_000 - HOUR
    end = record(34_100, 2, member("a", (0, 1, 2, 3)), joined=34_000)
    (event,) = closing(feed(tracker, *since_then(end, tick(50_000))))
    assert event.phases.started_ms == T0 + 29_000
    assert event.stall.lower_seconds <= 4.9 <= event.stall.seconds


def test_a_rebalance_without_a_result_is_dropped_in_time_after_a_step():
    tracker, _ = watch(*BEGIN, TWO, tick(20_000), listed(29_000), listed(29_200, "g"), listed(29_400), tick(30_000))
    assert tracker.view("g").running
    feed(tracker, *since_then(tick(30_100), tick(40_000)))
    assert tracker.view("g").running is None


def test_a_group_without_observations_is_removed_in_time_after_a_step():
    tracker, _ = watch(listed(1_000, "g"), tick(2_000))
    feed(tracker, *since_then(tick(3_000), listed(3_100), tick(700_000)))
    assert tracker._groups.get("g") is None


def test_awaited_evidence_is_reported_in_time_after_a_step():
    begun = (listed(29_000), listed(29_200, "g"))
    end = record(30_000, 2, member("a", (0, 1, 2, 3)), joined=29_990)
    late = (
        left("b", 29_100, 1, received=60_000),
        revoked("a", 29_300, 29_900, 1, (0, 1), received=60_000),
        assigned("a", 30_010, 30_020, 2, (0, 1, 2, 3), received=60_000),
    )
    tracker, events = watch(*BEGIN, TWO, *begun, end, tick(50_000), *late, tick(61_000))
    assert {event.revision for event in closing(events)} == {0}
    (revised,) = closing(feed(tracker, *since_then(tick(62_000), tick(70_000))))
    assert (revised.generation, revised.revision) == (2, 1)


def test_a_member_stops_flapping_in_time_after_a_step():
    tracker, _ = watch(*BEGIN, TWO)
    for time in range(3):
        feed(tracker, record(20_000 + time * 40_000, 2 + 2 * time, member("a", (0, 1, 2, 3))))
        feed(tracker, record(40_000 + time * 40_000, 3 + 2 * time, member("a", (0, 1)), member("b", (2, 3))))
    feed(tracker, tick(130_000))
    feed(tracker, *since_then(tick(140_000)))
    assert [each.name for each in tracker.view("g").flapping] == ["client-b"]
    feed(tracker, *since_then(tick(140_000 + 900_000)))
    assert tracker.view("g").flapping == ()


def test_topics_created_or_grown_after_a_step_are_noticed():
    tracker, _ = watch(*BEGIN, TWO, tick(20_000))
    feed(tracker, *since_then(tick(20_100), topics(25_000, t=6, u=1)))
    assert (tracker.view("g").partitions, tracker.view("g").unassigned) == (6, 2)
    grown = record(34_100, 2, member("a", {"t": (0, 1), "u": (0,)}, topics=("t", "u")), member("b", (2, 3)))
    (event,) = closing(feed(tracker, *since_then(grown, tick(50_000))))
    assert Trigger.TOPICS_CHANGED in event.causes


@pytest.mark.parametrize("state", [GroupState.STABLE, GroupState.PREPARING_REBALANCE])
def test_groups_described_by_polls_after_a_step_are_shown(state):
    def described(at, *names):
        shown = tuple(MemberLoad(name, None, name, "/h", {}) for name in names)
        return GroupDescribed(T0 + at, DescribedGroup("g", GroupState.STABLE, GroupType.CLASSIC, "range", shown))

    tracker, _ = watch(described(1_000, "a"), tick(20_000))
    everything = replace(listed(22_000, "g", state=state), states=frozenset())
    feed(tracker, *since_then(tick(20_100), described(21_000, "a", "b"), everything))
    assert (len(tracker.view("g").members), tracker.view("g").state) == (2, state)


# In the following tests a rebalance lasts 39.9 s, from between the polls at 29.0 and 29.2 s to its record at 69.1 s.
QUIET = (listed(12_000), listed(20_000), tick(20_000))
SHOWN = (listed(29_000), listed(29_200, "g"))
END = (record(69_100, 2, member("a", (0, 1, 2, 3)), joined=69_000), tick(80_000))


@pytest.mark.parametrize("by", [CLOCK_JUMP_MS + 5_000, HOUR])
def test_a_rebalance_after_a_step_forward_starts_when_polls_show_it(by):
    tracker, _ = watch(*BEGIN, TWO, *QUIET)
    (event,) = closing(feed(tracker, *(back(each, by) for each in (tick(20_300), *SHOWN, *END))))
    assert event.phases.started_ms == T0 + 29_000
    assert event.stall.lower_seconds <= 39.9 <= event.stall.seconds


@pytest.mark.parametrize("by", [CLOCK_JUMP_MS + 5_000, HOUR])
def test_a_rebalance_running_at_a_step_forward_keeps_its_start(by):
    tracker, _ = watch(*BEGIN, TWO, *QUIET, *SHOWN)
    (event,) = closing(feed(tracker, *(back(each, by) for each in (tick(30_000), listed(30_000, "g"), *END))))
    assert event.phases.started_ms == T0 + 29_000
    assert event.stall.lower_seconds <= 39.9 <= event.stall.seconds


def test_a_rebalance_running_while_the_clock_stopped_keeps_its_start():
    """The machine was suspended, and then its clock was corrected."""
    tracker, _ = watch(*BEGIN, TWO, *QUIET, *SHOWN)
    (event,) = closing(feed(tracker, tick(60_000), listed(60_000, "g"), *END))
    assert event.phases.started_ms == T0 + 29_000
    assert event.stall.lower_seconds <= 39.9 <= event.stall.seconds


@pytest.mark.parametrize("by", [CLOCK_JUMP_MS + 5_000, HOUR])
def test_a_rebalance_in_the_first_poll_after_a_step_forward_starts_after_the_previous_poll(by):
    tracker, _ = watch(*BEGIN, TWO, *QUIET, listed(29_000))
    (event,) = closing(feed(tracker, *(back(each, by) for each in (listed(29_200, "g"), *END))))
    assert event.phases.started_ms == T0 + 29_000
    assert event.stall.lower_seconds <= 39.9 <= event.stall.seconds


def test_a_rebalance_running_at_a_step_back_and_forward_keeps_its_start():
    tracker, _ = watch(*BEGIN, TWO, *QUIET, *SHOWN)
    feed(tracker, *since_then(tick(30_000), listed(30_000, "g"), listed(31_000, "g")))
    (event,) = closing(feed(tracker, tick(32_000), listed(32_000, "g"), *END))
    assert event.phases.started_ms == T0 + 29_000
    assert event.stall.lower_seconds <= 39.9 <= event.stall.seconds


def test_deliberately_rare_polls_do_not_look_like_a_clock_step():
    rare = [listed(at) for at in range(20_000, 100_000, 20_000)]
    tracker, _ = watch(*BEGIN, TWO, *rare, listed(100_000, "g"), list_period_ms=20_000)
    late = record(104_000, 2, member("a", (0, 1, 2, 3)), joined=103_900, delay=40_000)
    (event,) = closing(feed(tracker, late, tick(160_000)))
    assert event.phases.started_ms == T0 + 80_000
    assert event.stall.lower_seconds <= 24


def test_a_long_outage_does_not_look_like_a_clock_step():
    """Afterwards, records of a restarted broker's partitions are read late."""
    tracker, _ = watch(*BEGIN, TWO, *QUIET, listed(21_000, complete=False), listed(35_000), listed(35_200, "g"))
    late = record(38_000, 2, member("a", (0, 1, 2, 3)), joined=37_900, delay=8_000)
    (event,) = closing(feed(tracker, late, tick(60_000)))
    assert event.phases.started_ms == T0 + 35_000
    assert event.stall.lower_seconds <= 3
