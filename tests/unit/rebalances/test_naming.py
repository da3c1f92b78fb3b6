"""Topics that records name by their ids: events name them by their names, also where these are learned afterwards."""

from __future__ import annotations

from rebalance_agent.model.epochs import GroupEpoch, TargetEpoch
from rebalance_agent.rebalances.episodes import NAMES_WAIT_MAX_MS
from rebalance_agent.rebalances.observations import Backfilled
from rebalance_agent.rebalances.tracker import Tracker
from support.epochs import ID, current, fact, gone, joins, named, target
from support.tracking import T0, closing, tell, tick, topics

SETTLE_MS = 1_000
WHOLE = Backfilled(T0, frozenset({0}))
STARTS = [
    joins(1_000, "a"),
    fact(1_000, GroupEpoch(2)),
    target(1_000, "a", 0, 1, 2, 3),
    fact(1_000, TargetEpoch(2)),
    current(1_000, "a", 2, (0, 1, 2, 3)),
]
JOINED = [
    joins(2_000, "b"),
    fact(2_000, GroupEpoch(3)),
    target(2_000, "a", 0, 1),
    target(2_000, "b", 2, 3),
    fact(2_000, TargetEpoch(3)),
    current(2_000, "a", 2, (0, 1), (2, 3)),
    current(2_100, "a", 3, (0, 1)),
    current(2_200, "b", 3, (2, 3)),
]
UNNAMED_UNTIL = 1_003 + SETTLE_MS + NAMES_WAIT_MAX_MS  # each record is read after 3 ms


def followed(*observations):
    tracker = Tracker("cluster", settle_ms=SETTLE_MS)
    return tracker, tell(tracker, WHOLE, *observations)


def test_what_waits_to_be_told_is_told_by_names_that_came_meanwhile():
    _, late = followed(*STARTS, *JOINED, named(2_500), tick(20_000))
    _, early = followed(named(), *STARTS, *JOINED, tick(20_000))
    assert late == early
    assert [event.topics for event in closing(late)] == [{"t": 4}, {"t": 4}]


def test_names_are_waited_for_when_brokers_are_slow_to_say_them():
    tracker, nothing = followed(*STARTS, *JOINED, topics(1_500, t=4), tick(UNNAMED_UNTIL - 1))
    assert nothing == []
    assert tracker.unsettled("g")
    events = closing(tell(tracker, named(UNNAMED_UNTIL - 1), tick(UNNAMED_UNTIL)))
    assert [event.members[0].assigned for event in events] == [{"t": (0, 1, 2, 3)}, {"t": (0, 1)}]


def test_what_nobody_can_name_is_told_by_its_id_and_once_more_when_it_has_a_name():
    tracker, events = followed(*STARTS, topics(1_500, t=4), tick(UNNAMED_UNTIL))
    (by_id,) = closing(events)
    assert by_id.members[0].assigned == {ID: (0, 1, 2, 3)}
    (by_name,) = closing(tell(tracker, named(30_000), tick(30_000 + SETTLE_MS)))
    assert (by_name.event_id, by_name.revision) == (by_id.event_id, 1)
    assert by_name.members[0].assigned == {"t": (0, 1, 2, 3)}


def test_the_next_rebalance_is_compared_with_what_has_a_name_by_then():
    tracker, _ = followed(*STARTS, topics(1_500, t=4), tick(UNNAMED_UNTIL), named(30_000))
    later = [
        *gone(40_000, "a"),
        joins(40_000, "b"),
        fact(40_000, GroupEpoch(3)),
        target(40_000, "b", 0, 1, 2, 3),
        fact(40_000, TargetEpoch(3)),
        current(40_100, "b", 3, (0, 1, 2, 3)),
    ]
    assert closing(tell(tracker, *later, tick(60_000)))[-1].moved == 4


def test_a_group_without_unnamed_topics_waits_for_nothing():
    _, events = followed(named(), *STARTS, tick(1_003 + SETTLE_MS))
    assert len(closing(events)) == 1
