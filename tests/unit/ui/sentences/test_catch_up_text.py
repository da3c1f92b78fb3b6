"""The sentences on a group's lag, and on the catch-up time of moved partitions."""

import pytest

from rebalance_agent.api.view_shapes import build_detail, build_summary
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.group_lag import GroupLag
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup
from rebalance_agent.ui.sentences.catch_up_text import catch_up_text, lag_number, lag_text
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, headline
from support.observer.views import NOW, full_view

SHARED = "lag is 5,000 records (neither acknowledged nor archived); the oldest of these records is 45.0 s old"


@pytest.mark.parametrize(
    ("catch_up", "text"),
    [
        (CatchUp(), ""),
        (CatchUp(0, 6, 0.0, 0.0), ""),
        (CatchUp(3, 6, 0.0, 0.0), "3 of 6 moved partitions are catching up"),
        (CatchUp(1, 1, 45.0, 45.0), "1 of 1 moved partition is catching up, for 45.0 s or more"),
        (CatchUp(0, 1, 45.0, 45.0), "In the last catch-up, 1 moved partition was behind for 45.0 s or more"),
        (
            CatchUp(0, 1_200, 90.0, 9_000.0),
            "In the last catch-up, 1,200 moved partitions were behind, the slowest for 1 min 30 s or more",
        ),
    ],
)
def test_the_sentence_has_the_time_and_the_partitions(catch_up, text):
    assert catch_up_text(catch_up) == text


@pytest.mark.parametrize(
    ("group_type", "lag", "number", "text"),
    [
        (GroupType.CLASSIC, None, "", ""),
        (GroupType.CLASSIC, GroupLag(0, 0.0), "0 offsets", "no lag"),
        (GroupType.CLASSIC, GroupLag(1), "1 offset", "lag is 1 offset"),
        (
            GroupType.STREAMS,
            GroupLag(5_000, 45.0),
            "5,000 offsets",
            "lag is 5,000 offsets; the oldest unread record is 45.0 s old",
        ),
        (GroupType.SHARE, GroupLag(5_000, 45.0), "5,000 records", SHARED),
        (GroupType.SHARE, GroupLag(1), "1 record", "lag is 1 record (neither acknowledged nor archived)"),
    ],
)
def test_the_lag_of_a_share_group_is_a_number_of_records(group_type, lag, number, text):
    summary = build_summary(full_view("g", group_type), lag)
    assert (lag_number(summary), lag_text(summary)) == (number, text)


def headline_of(lag=None, **changes):
    detail = build_detail(full_view("s", GroupType.SHARE, running=None, **changes), NOW, lag)
    return headline(GroupCloseUp(detail, (), None, None))


def test_watch_shows_the_lag_once():
    assert f", {SHARED}" in headline_of(GroupLag(5_000, 45.0))
    assert "lag" not in headline_of()
    gone = EmptyGroup(NOW - 600_000, members=3, partitions=12)
    empty = headline_of(GroupLag(5_000, 45.0), members=(), state=GroupState.EMPTY, empty=gone)
    assert empty.count("lag is 5,000 records") == 1
