"""The lag of a group by topic, and partitions that make no progress."""

from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.end_offsets import EndOffsets
from rebalance_agent.tracking.lag.group_lag import (
    GroupLag,
    GroupProgress,
    StuckPartition,
    TopicLag,
    group_lag,
    topic_lags,
)

NONE = CatchUp()
T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


class Group:
    """Measured every 10 seconds."""

    def __init__(self):
        self.ends, self.progress, self.now = EndOffsets(), GroupProgress(), 0.0

    def measure(self, end, committed, owned=(T0, T1, U0)):
        self.now += 10
        self.ends.take(self.now, end)
        stuck = self.progress.take(self.now, set(owned), committed, self.ends)
        return group_lag(
            topic_lags((T0, T1, U0), committed, self.ends), (None, 2.0, 3.0), stuck, NONE, has_owned=bool(owned)
        )


def test_topics_with_the_highest_lag_are_first_and_topics_without_commits_are_omitted():
    group = Group()
    group.measure({T0: 0, T1: 0, U0: 0}, {})
    lag = group.measure({T0: 100, T1: 100, U0: 100}, {T0: 50, T1: 40})
    assert lag.offsets == 110
    assert lag.topics == (TopicLag("t", 110, lag.seconds),)
    assert 5 <= lag.seconds <= 7
    assert lag.appended_per_second == 5.0
    lag = group.measure({T0: 100, T1: 100, U0: 1_000}, {T0: 100, T1: 100, U0: 100})
    assert [(topic.topic, topic.offsets) for topic in lag.topics] == [("u", 900), ("t", 0)]
    assert lag.topics[1].seconds == 0


def test_a_lag_of_unknown_age_has_no_seconds_and_no_lag_has_zero():
    group = Group()
    assert group.measure({T0: 100}, {T0: 50}) == GroupLag(
        50, None, 5.0, (TopicLag("t", 50, None),), None, NONE, has_owned=True
    )
    assert group.measure({T0: 100}, {T0: 100}).seconds == 0
    assert group.measure({T0: 100}, {U0: 100}) is None


def test_a_committed_offset_beyond_the_end_is_no_lag():
    assert Group().measure({T0: 5}, {T0: 100}).offsets == 0


def test_a_partition_is_stuck_while_records_come_and_its_committed_offset_stays():
    group = Group()
    assert group.measure({T0: 100}, {T0: 100}).stuck is None
    for end in (110, 120, 130):
        lag = group.measure({T0: end}, {T0: 100})
    assert lag.stuck == StuckPartition("t", 0, lag.stuck.seconds)
    assert 28 <= lag.stuck.seconds <= 30
    assert group.measure({T0: 140}, {T0: 101}).stuck is None


def test_unread_records_without_new_ones_do_not_make_a_partition_stuck():
    """A transaction marker, or the last record of a topic, may stay unread without end."""
    group = Group()
    group.measure({T0: 50}, {T0: 40})
    for _ in range(9):
        lag = group.measure({T0: 100}, {T0: 99})
    assert lag.offsets == 1
    assert lag.stuck is None


def test_the_first_record_after_a_pause_is_not_stuck_since_the_last_commit():
    group = Group()
    for _ in range(100):
        group.measure({T0: 100}, {T0: 100})
    assert group.measure({T0: 101}, {T0: 100}).stuck.seconds <= 10


def test_a_new_owner_is_not_stuck_by_the_time_before_its_assignment():
    group = Group()
    for end in range(100, 1_000, 10):
        assert group.measure({T0: end}, {T0: 100}, owned=()).stuck is None
    assert group.measure({T0: 1_000}, {T0: 100}).stuck is None
    assert group.measure({T0: 1_010}, {T0: 100}).stuck.seconds == 10


def test_the_partition_stuck_for_the_longest_time_is_named():
    group = Group()
    group.measure({T0: 100, T1: 100}, {T0: 100, T1: 90})
    group.measure({T0: 110, T1: 110}, {T0: 100, T1: 95})
    lag = group.measure({T0: 120, T1: 120}, {T0: 100, T1: 95})
    assert (lag.stuck.topic, lag.stuck.partition) == T0
