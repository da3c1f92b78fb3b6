from dataclasses import replace

import pytest

from rebalance_agent.api.shapes import GroupList
from rebalance_agent.api.view_shapes import build_detail, build_summary
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.lag.group_lag import GroupLag
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.group_list import FleetSummary, ListQuery, listing
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.sentences.empty_text import Urgency, empty_text, urgency
from rebalance_agent.ui.sentences.explanation import explanation_of
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, headline
from rebalance_agent.ui.sentences.group_table import EMPTY_LINES_MAX, empty_lines, group_rows, groups_text
from support.observer.views import NOW, full_view

SINCE = NOW - 600_000
PLANNED = "if planned, set empty_groups_allow"
UNSEEN = "its last members departed before the agent started"


def emptied(name="orders", since_ms=SINCE, unassigned=12, **changes):
    gone = EmptyGroup(since_ms, **{"members": 3, "partitions": 12, **changes})
    return full_view(name, members=(), running=None, state=GroupState.EMPTY, unassigned=unassigned, empty=gone)


def behind(offsets=5_000, rate=1_200.4, **more):
    return GroupLag(offsets, 9.0, rate, **more)


@pytest.mark.parametrize(
    ("lag", "text"),
    [
        (behind(), "; 12 partitions have no owner; lag is 5,000 offsets and grows by 1,200/s"),
        (behind(rate=0.0), "; lag is 5,000 offsets"),
        (behind(rate=None), "; lag is 5,000 offsets"),
        (behind(0, 0.0), "; no lag"),
        (None, "; 12 partitions have no owner"),
    ],
)
def test_the_sentence_contains_the_lag_if_it_is_measured(lag, text):
    assert empty_text(build_summary(emptied(), lag), NOW).endswith(text)


@pytest.mark.parametrize(
    ("seconds", "lag", "expected"),
    [
        (299, behind(), Urgency.SOON),
        (301, behind(), Urgency.NOW),
        (200_000, behind(), Urgency.NOW),
        (301, behind(rate=0.001), Urgency.SOON),
        (200_000, behind(rate=0.001), Urgency.NONE),
        (301, behind(0, 0.0), Urgency.NONE),
        (301, None, Urgency.NOW),
    ],
)
def test_with_a_known_lag_a_group_is_urgent_while_records_come(seconds, lag, expected):
    assert urgency(build_summary(emptied(since_ms=NOW - seconds * 1_000), lag), NOW) is expected


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (emptied(), "Empty since 22:03:20 UTC; its last 3 members are gone; 12 partitions have no owner"),
        (
            emptied(cause=Trigger.MEMBER_FAILED),
            "Empty since 22:03:20 UTC; its last 3 members failed; 12 partitions have no owner",
        ),
        (
            emptied(members=1, unassigned=1, cause=Trigger.MEMBER_LEFT),
            f"Empty since 22:03:20 UTC; its last member left ({PLANNED}); 1 partition has no owner",
        ),
        (emptied(members=None, partitions=None, unassigned=None), f"Empty since 22:03:20 UTC; {UNSEEN}"),
        (
            emptied(since_ms=NOW - 86_400_000, members=None, unassigned=None),
            f"Empty since 2023-11-13 22:13:20 UTC; {UNSEEN}",
        ),
        (emptied(since_ms=NOW + 5_000, members=None, unassigned=None), f"Empty since 22:13:25 UTC; {UNSEEN}"),
    ],
)
def test_a_sentence_contains_only_known_facts(view, text):
    assert empty_text(build_summary(view), NOW) == text


@pytest.mark.parametrize(("rate", "normal"), [(None, True), (0.0, True), (1_200.0, False)])
def test_members_that_left_may_have_been_stopped_on_purpose_unless_records_wait(rate, normal):
    left = emptied(cause=Trigger.MEMBER_LEFT)
    assert ("(normal after a planned stop)" in empty_text(build_summary(left, behind(rate=rate)), NOW)) is normal


@pytest.mark.parametrize(("seconds", "hint"), [(9, "normal after a planned stop"), (600, PLANNED)])
def test_a_critical_group_is_not_called_normal(seconds, hint):
    summary = build_summary(emptied(since_ms=NOW - seconds * 1_000, cause=Trigger.MEMBER_LEFT))
    assert (urgency(summary, NOW) is Urgency.NOW) == (hint != "normal after a planned stop")
    assert f"left ({hint});" in empty_text(summary, NOW)


def test_watch_lists_such_groups_first_with_a_sentence_each():
    running = full_view("busy", running=RunningRebalance(NOW - 1_000, 6))
    old = emptied("abandoned", since_ms=NOW - 90_000_000)
    views = (full_view("calm", running=None), running, old, emptied("young", since_ms=NOW - 9_000), emptied("zebra"))
    rows = group_rows(GroupList(NOW, len(views), 0, tuple(map(build_summary, views))))
    assert [row.group for row in rows] == ["zebra", "young", "busy", "abandoned", "calm"]
    assert groups_text(rows).splitlines()[0].startswith("zebra: Empty since 22:03:20 UTC; its last 3 members are gone")
    assert rows[0].styles[0] == "bold red"
    assert len(empty_lines(rows)) == 2


def test_the_first_of_many_are_listed_and_the_others_counted():
    views = [emptied(f"g{number}") for number in range(EMPTY_LINES_MAX + 2)]
    rows = group_rows(GroupList(NOW, len(views), 0, tuple(map(build_summary, views))))
    assert empty_lines(rows)[EMPTY_LINES_MAX:] == ["and 2 more groups are Empty"]
    assert empty_lines(rows[:-1])[EMPTY_LINES_MAX:] == ["and 1 more group is Empty"]


def test_the_page_has_the_sentence_on_top_of_the_list_and_the_group():
    groups = [build_summary(full_view("bare", running=None, unassigned=2)), build_summary(emptied("zebra"))]
    html = listing(FleetSummary(groups, 2, {}, NOW), ListQuery())[1]
    assert html.index(">zebra<") < html.index(">bare<")
    assert "Empty since 22:03:20 UTC; its last 3 members are gone; 12 partitions have no owner" in html
    close_up = GroupCloseUp(build_detail(emptied(), NOW), (), None, None)
    content = group_content(close_up, (), 0, explanation_of((), (), 3))
    assert '<p class="note critical">Empty since 22:03:20 UTC; its last 3 members are gone' in content
    assert "Empty since 22:03:20 UTC" in headline(close_up)
    calm = GroupCloseUp(build_detail(replace(emptied(), empty=None), NOW), (), None, None)
    assert "Empty since" not in group_content(calm, (), 0, explanation_of((), (), 3)) + headline(calm)
