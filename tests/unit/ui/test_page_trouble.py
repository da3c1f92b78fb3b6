import re
from dataclasses import replace

import pytest
from alerts.values import load

from rebalance_agent.api.parts.rebalance_parts import SlowestMember
from rebalance_agent.api.shapes import GroupStall, RebalanceKind
from rebalance_agent.api.view_shapes import build_detail, build_rebalance, build_summary
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.metrics.group_values import group_stalls
from rebalance_agent.model.episode import Basis, Stall, Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.evidence.doubly_owned import FormerOwner
from rebalance_agent.tracking.lag.group_lag import GroupLag, StuckPartition
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup
from rebalance_agent.tracking.patterns.flapping import FlappingMember
from rebalance_agent.tracking.patterns.group_stalls import StalledTime, StallLimits
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.page.trouble import (
    HOUR_MS,
    SKEW_RATIO_MAX,
    Level,
    RecentRebalances,
    Trouble,
    lasting,
    recent_rebalances,
    trouble,
)
from rebalance_agent.ui.sentences.explanation import explanation_of
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp
from support.observer.fakes import generation_event
from support.observer.views import NOW, full_view

WELL = build_summary(full_view(running=None))


def empty(seconds, **changes):
    """A group that lost its members this many seconds ago."""
    gone = EmptyGroup(NOW - round(seconds * 1000), 2, 6, **changes)
    return {"members": 0, "unassigned": 6, "state": GroupState.EMPTY, "empty": gone}


def on_one_host(number, chance=1e-9):
    return build_summary(full_view(host_spread=HostSpread(80, number, 4, 0.5, chance))).host_spread


def former(ago_ms, **changes):
    """A removed member that revoked its partitions this long ago."""
    return replace(FormerOwner("id", "one", "h", 2, 14.5, NOW - ago_ms), **changes)


def judged(storm=0, longest=None, failed=0, **changes):
    return trouble(replace(WELL, **changes), RecentRebalances(storm, storm, failed, longest), NOW)


def test_a_stable_group_is_ok():
    assert judged() == Trouble()


@pytest.mark.parametrize(
    ("changes", "storm", "level", "word"),
    [
        ({"running": RunningRebalance(NOW - 60_000, 6)}, 0, Level.WARNING, "rebalancing, 6 partitions are stalled"),
        (
            {"running": RunningRebalance(NOW - 60_001, 1)},
            0,
            Level.WARNING,
            "rebalancing for more than 60\u00a0s, 1 part",
        ),
        ({"running": RunningRebalance(NOW - 330_000, 1)}, 0, Level.WARNING, "rebalancing for more than 60\u00a0s"),
        (
            {"running": RunningRebalance(NOW - 330_001, 1)},
            0,
            Level.CRITICAL,
            "rebalancing for longer than the members' rebalance timeout, 1 part",
        ),
        (
            {"running": RunningRebalance(NOW - 330_001, 0), "rebalance_timeout_seconds": None},
            0,
            Level.CRITICAL,
            "rebalancing for longer",
        ),
        (
            {"running": RunningRebalance(NOW - 330_001, 0), "rebalance_timeout_seconds": 301.0},
            0,
            Level.WARNING,
            "rebalancing for more than",
        ),
        ({"running": RunningRebalance(NOW, 0)}, 0, Level.WARNING, "rebalancing, no partition is known to be stalled"),
        ({"unassigned": 1}, 0, Level.CRITICAL, "1 partition without an owner"),
        (
            {"unassigned": 1, "running": RunningRebalance(NOW, 1)},
            0,
            Level.WARNING,
            "rebalancing, 1 partition is stalled",
        ),
        ({"members": 0, "unassigned": 6, "state": GroupState.EMPTY}, 0, Level.OK, "Empty: no active consumers"),
        (empty(300.001), 0, Level.CRITICAL, "Empty since"),
        (empty(300), 0, Level.WARNING, "Empty since"),
        (empty(86_399), 0, Level.CRITICAL, "Empty since"),
        (empty(86_400), 0, Level.OK, "Empty since 2023-11-13 22:13:20 UTC"),
        ({}, 6, Level.OK, ""),
        ({}, 7, Level.WARNING, "storm: 7 rebalances in 15\u00a0min"),
        ({"rollout_in_progress": True}, 7, Level.OK, ""),
        ({"members": 6}, 12, Level.OK, ""),
        ({"members": 6}, 13, Level.WARNING, "storm: 13"),
        ({"skew_ratio": SKEW_RATIO_MAX}, 0, Level.OK, ""),
        ({"skew_ratio": 1.6}, 0, Level.WARNING, "1.6\u00d7 its share"),
        ({"skew_ratio": None}, 0, Level.OK, ""),
        ({"host_spread": on_one_host(40)}, 0, Level.OK, ""),
        (
            {"host_spread": on_one_host(41)},
            0,
            Level.WARNING,
            "41 of 80 topics have all their partitions on one of 4 hosts",
        ),
        ({"host_spread": on_one_host(80, chance=1e-5)}, 0, Level.OK, ""),
        ({"host_spread": None}, 0, Level.OK, ""),
        ({"flapping": ("a",)}, 0, Level.WARNING, "members keep leaving and rejoining: a"),
        ({"flapping": ("a", "b", "c", "d\n")}, 0, Level.WARNING, "rejoining: a, b and 2 more"),
        ({"former_owner": former(900_001)}, 0, Level.OK, ""),
        (
            {"former_owner": former(900_000)},
            0,
            Level.WARNING,
            "two owners: one kept 2 partitions until 2023-11-14 21:58:20 UTC, although other members had owned",
        ),
        ({"former_owner": former(0, client_id="", partitions=1)}, 0, Level.WARNING, "id kept 1 partition until"),
        ({"idle_members": 1}, 0, Level.OK, "1 member has no partitions"),
        ({"idle_members": 2}, 0, Level.OK, "2 members have no partitions"),
        ({"idle_members": None}, 0, Level.OK, ""),
    ],
)
def test_problems_are_named(changes, storm, level, word):
    found = judged(storm, **changes)
    assert found.level is level
    assert word in "; ".join(found.why)
    assert bool(found.why) is bool(word)


@pytest.mark.parametrize(
    ("seconds", "limits", "level", "text"),
    [
        (30.999, (30, 90), Level.WARNING, "rebalancing, 6 partitions are stalled"),
        (
            31,
            (30, 90),
            Level.WARNING,
            "rebalancing, group stalled for more than 30\u00a0s, 6 partitions are stalled",
        ),
        (
            90.999,
            (30, 90),
            Level.WARNING,
            "rebalancing for more than 60\u00a0s, group stalled for more than 30\u00a0s, 6 partitions are stalled",
        ),
        (
            91,
            (30, 90),
            Level.CRITICAL,
            "rebalancing for more than 60\u00a0s, group stalled for more than 90\u00a0s, 6 partitions are stalled",
        ),
        (
            11,
            (5, 10),
            Level.CRITICAL,
            "rebalancing, group stalled for more than 10\u00a0s, 6 partitions are stalled",
        ),
        (59, (60, 600), Level.WARNING, "rebalancing, 6 partitions are stalled"),
    ],
)
def test_a_stall_of_the_whole_group_has_the_level_of_the_alert_on_it(seconds, limits, level, text):
    """At the moment when the alert's counter begins to increase, by the group's own limits."""
    since_ms = NOW - round(seconds * 1000)
    time = StalledTime(StallLimits(0.5, *limits), since_ms=since_ms)
    view = full_view(running=RunningRebalance(since_ms, 6), stalled_time=time)
    found = trouble(build_summary(view), RecentRebalances(), NOW)
    assert (found.level, found.why) == (level, (text,))
    counted = dict(group_stalls(view, NOW))
    assert bool(counted["critical",]) is (level is Level.CRITICAL)
    assert bool(counted["warning",]) is ("group stalled" in text)


@pytest.mark.parametrize(
    ("alert", "changes", "text"),
    [
        ("KafkaGroupMemberFlapping", {"flapping": (FlappingMember("a<b", None, 3, NOW),)}, "Members keep leaving"),
        ("KafkaGroupTopicsOnOneHost", {"host_spread": HostSpread(80, 41, 4, 0.5, 1e-9)}, "41 of 80 topics"),
        ("KafkaGroupCopartitionBroken", {"copartition_breaks": 2}, "Co-partitioning is broken"),
    ],
)
def test_a_problem_has_one_severity_in_the_list_on_the_groups_page_and_in_its_alert(alert, changes, text):
    view = full_view(running=None, **changes)
    severity = load().alerts[alert]["severity"]
    close_up = GroupCloseUp(build_detail(view, NOW), (), None, None)
    (kind,) = re.findall(rf'<p class="note (\w+)">{text}', group_content(close_up, (), 0, explanation_of((), (), 3)))
    assert kind == severity
    listed = [each for each in lasting(close_up.detail.summary) if each.why[0].lower().startswith(text.lower())]
    assert [each.level.css for each in listed] == ([] if alert == "KafkaGroupCopartitionBroken" else [severity])


def test_returns_of_static_members_are_no_storm():
    triggers = [Trigger.MEMBER_REPLACED] * 9 + [Trigger.MEMBER_LEFT] * 2
    rebalances = [rebalance(timestamp_ms=NOW, trigger=trigger) for trigger in triggers]
    recent = recent_rebalances(rebalances, NOW)
    assert (recent.hour, recent.storm) == (11, 2)


def test_a_stalled_group_comes_before_one_that_only_rebalances_for_longer():
    running = {"running": RunningRebalance(NOW - 60_000, 6)}
    stalled_too = judged(**running, stalled=GroupStall(NOW - 40_000, 30.0, 90.0))
    assert stalled_too.weight > judged(running=RunningRebalance(NOW - 320_000, 6)).weight


@pytest.mark.parametrize(("seconds", "level"), [(900.0, Level.OK), (900.1, Level.CRITICAL)])
def test_a_partition_that_makes_no_progress_is_named(seconds, level):
    lag = GroupLag(5, 9.0, 1.0, stuck=StuckPartition("orders", 3, seconds), has_owned=True)
    found = trouble(build_summary(full_view(running=None), lag), RecentRebalances(), NOW)
    assert found.level is level
    assert ("orders-3 makes no progress" in "".join(found.why)) is (level is Level.CRITICAL)


def rebalance(**changes):
    """A rebalance of a group with two members."""
    return replace(build_rebalance([generation_event(**changes)]), members=2)


def stalled(seconds, lower=None, at_ms=NOW, **changes):
    """A rebalance with a stall."""
    stall = Stall(seconds, seconds if lower is None else lower, 80.0, Basis.EXACT)
    return rebalance(stall=stall, timestamp_ms=at_ms, **changes)


def test_the_worst_stall_of_the_hour_is_ranked_by_its_lower_bound():
    lines = [stalled(60.0, 4.9), stalled(14.0), stalled(9.0), stalled(300.0, at_ms=NOW - HOUR_MS - 1), stalled(6.0)]
    assert recent_rebalances(lines, NOW).stalled.stall.seconds == 14.0
    assert recent_rebalances(lines, NOW - 1).stalled.stall.seconds == 300.0
    assert recent_rebalances(lines[:1], NOW).stalled is None
    assert recent_rebalances([], NOW) == RecentRebalances()


def test_rebalances_and_failed_members_are_counted_for_their_periods():
    ago = [stalled(1.0, at_ms=NOW - ms, lost=None, lost_min=2) for ms in (0, 900_000, 900_001, HOUR_MS, HOUR_MS + 1)]
    aborted = replace(ago[0], kind=RebalanceKind.ABORTED)
    assert recent_rebalances([*ago, aborted], NOW) == RecentRebalances(hour=4, storm=2, failed=2)
    assert recent_rebalances([replace(each, members=0) for each in ago], NOW) == RecentRebalances(failed=2)
    assert recent_rebalances([replace(each, lost_min=0) for each in ago], NOW).failed == 0
    assert judged(failed=7).why == ("members failed in 7 rebalances",)
    assert judged(failed=1).why == ("members failed in 1 rebalance",)
    assert judged(failed=7).level is Level.WARNING


def test_a_long_stall_is_reported_with_its_reason_and_its_slowest_member():
    line = replace(stalled(14.0), trigger=Trigger.MEMBER_JOINED)
    slow = SlowestMember("orders-90", "h", "m", 7.0, None)
    assert judged(longest=replace(line, slowest=None)).why == ("stalled for 14.0 s: member joined",)
    assert judged(longest=replace(line, slowest=slow)).why[0].endswith(": member joined, waiting for orders-90")
    assert "waiting" not in judged(longest=replace(line, slowest=replace(slow, seconds=6.9))).why[0]
    assert "waiting" not in judged(longest=replace(line, slowest=replace(slow, lower_seconds=6.9))).why[0]
    assert "waiting" not in judged(longest=replace(line, slowest=replace(slow, seconds=None))).why[0]
    assert judged(longest=line).level is Level.WARNING


def test_the_worst_of_several_problems_determines_the_level_and_all_are_reported():
    found = judged(9, unassigned=2, skew_ratio=2.0)
    assert (found.level, found.weight) == (Level.CRITICAL, 900)
    assert [each.split()[0] for each in found.why] == ["2", "storm:", "the"]
