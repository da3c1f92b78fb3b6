"""A stall of a whole group on its page and in the headline of `watch`."""

from __future__ import annotations

import re

import pytest

from rebalance_agent.api.view_shapes import build_detail
from rebalance_agent.tracking.patterns.group_stalls import StalledTime, StallLimits
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.group_page import group_content
from rebalance_agent.ui.sentences.explanation import explanation_of
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, headline
from support.observer.views import NOW, full_view


def close_up(**changes):
    return GroupCloseUp(build_detail(full_view(**changes), NOW), (), None, None)


def content(of):
    return group_content(of, (), 0, explanation_of((), (), 3))


@pytest.mark.parametrize(
    ("seconds", "limits", "kind", "length"),
    [
        (20, StallLimits(), "busy", "19.0 s"),
        (42, StallLimits(), "warning", "41.0 s"),
        (91, StallLimits(), "critical", "1 min 30 s"),
        (42, StallLimits(0.5, 60, 90), "busy", "41.0 s"),
    ],
)
def test_a_stall_is_shown_with_its_duration_and_the_level_of_the_alert(seconds, limits, kind, length):
    since_ms = NOW - seconds * 1000
    shown = close_up(running=RunningRebalance(NOW - 95_000, 6), stalled_time=StalledTime(limits, since_ms=since_ms))
    (note,) = re.findall(r'<p class="note (\w+)">Rebalancing now(.*?)</p>', content(shown))
    assert note[0] == kind
    assert f'6 partitions are stalled, group stalled <span data-since="{since_ms}">since 20' in note[1]
    assert f"for 1 min 35 s, 6 partitions are stalled, group stalled for {length}" in headline(shown)


@pytest.mark.parametrize("running", [None, RunningRebalance(NOW - 95_000, 1)])
def test_a_group_without_a_stall_has_no_sentence(running):
    since_ms = None if running else NOW  # as at the end of its last rebalance
    shown = close_up(running=running, stalled_time=StalledTime(since_ms=since_ms))
    assert shown.detail.summary.stalled is None
    assert "group stalled" not in content(shown) + headline(shown)
