"""The leader of a classic group is marked among the members, and named where the group waited for its assignment."""

import pytest

from rebalance_agent.api.view_shapes import build_detail
from rebalance_agent.tracking.views import MemberLoad
from rebalance_agent.ui.sentences.explanation import explanation_of, whole_rebalances
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, member_table
from support.observer.views import NOW, full_view
from support.tracker.tracking import listed, member, record, revoked, tick, topics, watch

MEMBERS = member("a", (0, 1)), member("b", (2, 3))


def course(joined_ms, closed_ms, members=MEMBERS):
    """The sentence on the course of a rebalance that started at 10 s."""
    polls = listed(9_900), listed(10_000, "g"), listed(closed_ms - 10, "g")
    after = record(closed_ms, 2, *members, joined=joined_ms)
    start = topics(0, t=4), listed(500), record(1_000, 1, *MEMBERS, joined=990)
    _, events = watch(*start, *polls, after, tick(150_000))
    details, rollouts = whole_rebalances(events, 1)
    return explanation_of(details, rollouts, 1).rebalances[-1].sentences[1]


def test_the_group_waited_for_the_leader_to_assign():
    text = course(joined_ms=12_000, closed_ms=18_000)
    assert text == "The rebalance took 8.1 s with 2 members, 6.0 s of it waiting for the leader, client-a, to assign."


def test_the_group_waited_for_members_to_rejoin():
    assert course(joined_ms=17_000, closed_ms=18_000).endswith("7.1 s of it waiting for every member to rejoin.")


def test_a_rebalance_whose_start_no_poll_shows_took_at_least_the_time_since_the_first_reported_revocation():
    found_rebalancing, stopped = listed(1_500, "g"), revoked("a", 12_000, 12_100, 1, (0, 1))
    after = record(18_000, 2, *MEMBERS, joined=17_990)
    start = topics(0, t=4), record(1_000, 1, *MEMBERS, joined=990)
    _, events = watch(*start, found_rebalancing, stopped, after, tick(150_000))
    text = explanation_of(*whole_rebalances(events, 1), 1).rebalances[-1].sentences[1]
    took = "The rebalance took at least 6.0 s with 2 members"
    assert text == f"{took}, nearly all of it waiting for every member to rejoin."


@pytest.mark.parametrize(
    ("leader", "marked"), [("a", ["one (leader)", "two"]), ("b", ["one", "two (leader)"]), (None, ["one", "two"])]
)
def test_the_leader_is_marked_in_the_table(leader, marked):
    members = (MemberLoad("a", None, "one", "/h", {"t": (0,)}), MemberLoad("b", None, "two", "/h", {"t": (1,)}))
    view = full_view(members=members, leader_member_id=leader)
    _, rows = member_table(GroupCloseUp(build_detail(view, NOW), (), None, None))
    assert [row[0] for row in rows] == marked
