"""What a running rebalance waits for, on the page, in `watch` and in `explain`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.api.view_shapes import build_detail, build_summary
from rebalance_agent.model.epoch_groups import PENDING_MAX, Pending, PendingMember
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.patterns.group_stalls import StalledTime
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.page.trouble import LONG_SECONDS_MIN, RecentRebalances, trouble
from rebalance_agent.ui.sentences.explanation import explanation_of
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, headline
from rebalance_agent.ui.sentences.unsettled import pending_text, running_text
from support.observer.views import NOW, full_view

SLOW = PendingMember("id-000001", None, "orders-2", "/10.0.0.2", 3)


def summary(pending, state=GroupState.RECONCILING, since_ms=NOW - 5_000):
    return build_summary(full_view(state=state, running=RunningRebalance(since_ms, 3, pending=pending)))


def of(*members):
    return pending_text(summary(Pending.of(members)))


def test_one_member_is_named_with_what_it_has_to_do():
    assert of(SLOW) == "waiting for orders-2 to revoke 3 partitions"
    assert of(replace(SLOW, partitions=1)) == "waiting for orders-2 to revoke 1 partition"
    for unknown in (0, None):
        assert of(replace(SLOW, partitions=unknown)) == "waiting for orders-2 to take its new assignment"
    assert of(replace(SLOW, instance_id="seat-a")).startswith("waiting for seat-a to revoke")


def test_of_several_members_those_with_partitions_to_revoke_come_first():
    other = replace(SLOW, member_id="id-000002", client_id="orders-1", partitions=0)
    assert of(other, SLOW) == "waiting for 2 members: orders-2 (has to revoke 3 partitions) and orders-1"


def test_members_of_equal_name_are_distinguished_and_the_rest_is_counted():
    many = [replace(SLOW, member_id=f"id-{number:06}", partitions=0) for number in range(PENDING_MAX + 5)]
    assert of(*many) == "waiting for 15 members: orders-2 (000000), orders-2 (000001), orders-2 (000002) and 12 more"


def test_names_are_escaped_and_cut():
    assert of(replace(SLOW, client_id="a\x1b[31m")) == r"waiting for a\x1b[31m to revoke 3 partitions"
    assert len(of(replace(SLOW, client_id="x" * 5_000))) < 120
    page = group_content(_close_up(Pending.of([replace(SLOW, client_id="<b>")])), (), 0, explanation_of((), (), 3))
    assert "waiting for &lt;b&gt; to revoke" in page


def test_without_a_target_the_assignor_is_awaited_and_other_groups_have_no_text():
    assert pending_text(summary(None, GroupState.ASSIGNING)) == "waiting for the coordinator's assignment"
    assert pending_text(summary(None, GroupState.PREPARING_REBALANCE)) == ""
    assert pending_text(summary(Pending.of([]))) == ""
    assert pending_text(build_summary(full_view(running=None))) == ""


def _close_up(pending):
    running = RunningRebalance(NOW - 5_000, 3, pending=pending)
    return GroupCloseUp(build_detail(full_view(running=running, stalled_time=StalledTime()), NOW), (), None, None)


def test_page_watch_and_explain_have_it():
    waits = "waiting for orders-2 to revoke 3 partitions"
    shown = _close_up(Pending.of([SLOW]))
    assert f"3 partitions are stalled, {waits}" in headline(shown)
    assert f"3 partitions are stalled, {waits}.</p>" in group_content(shown, (), 0, explanation_of((), (), 3))
    assert running_text(shown.detail.summary, NOW).endswith(f": 3 partitions are stalled. It is {waits}.")


@pytest.mark.parametrize(("seconds", "named"), [(LONG_SECONDS_MIN, False), (LONG_SECONDS_MIN + 1, True)])
def test_the_list_of_groups_names_the_member_if_the_rebalance_takes_long(seconds, named):
    group = summary(Pending.of([SLOW]), since_ms=NOW - round(1000 * seconds))
    texts = trouble(group, RecentRebalances(), NOW).why
    assert any("waiting for orders-2" in text for text in texts) == named
