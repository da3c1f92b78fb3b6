"""The series of quiet fleets, on which ``tests/slow/alerts/test_quiet_fleet.py`` replays the rules."""

from __future__ import annotations

import pytest
from alerts.quiet_fleets import quiet_fleets

from support.replay.fleet.kinds import GATEWAY, KINDS, NIGHTLY, POLLED, plan_of
from support.replay.fleet.planted import PLANTED
from support.replay.fleet.quiet import QuietFleet, group_series, kind_of
from support.replay.scraped_group import READ

FLEET = QuietFleet(days=1, groups=3)


def values(series, name):
    return [values for key, values in series.items() if key.startswith(f"{name}{{")]


def test_the_names_of_groups_show_their_kind():
    for kind in KINDS:
        assert kind_of(plan_of(FLEET.plan, kind, 2).name) == kind
    assert [kind_of(planted.group) for planted in PLANTED] == [None] * len(PLANTED)


def test_a_group_has_the_same_series_in_each_replay():
    assert group_series(FLEET, "cooperative", 0) == group_series(FLEET, "cooperative", 0)


@pytest.mark.parametrize("kind", ["static", GATEWAY])
def test_the_leaders_of_groups_with_racks_rejoin_when_brokers_restart(kind):
    with_racks, without = (values(group_series(FLEET, kind, number), "kafka_rebalance_noop_total") for number in (0, 1))
    assert max(with_racks[0].values()) >= 6
    assert [max(each.values()) for each in without if max(each.values()) >= 6] == []


def test_a_described_group_has_members_and_no_rebalances():
    series = group_series(FLEET, POLLED, 1)
    assert set(values(series, "kafka_rebalance_members")[0].values()) > {1, 2}
    assert values(series, "kafka_rebalance_completed_total") == []


def test_a_group_that_is_scaled_to_zero_runs_at_night_only():
    series = group_series(FLEET, NIGHTLY, 0)
    members = values(series, "kafka_rebalance_members")[0]
    assert {number * FLEET.scrape // 3600 for number, count in members.items() if count} <= {1, 2, 3, 4}
    assert {*members.values()} > {0}
    assert {*values(series, "kafka_rebalance_group_empty_seconds")[0].values()} == {0}, "empty_groups_allow names it"


def test_only_series_that_rules_read_are_replayed():
    for kind in KINDS:
        names = {key.partition("{")[0] for key in group_series(FLEET, kind, 0)}
        assert names <= READ


def test_a_planted_fault_is_moved_to_its_time_and_group():
    first, second = PLANTED[:2]
    assert second.at - first.at == 1200
    series = first.series(30)
    assert all(f'consumergroup="{first.group}"' in name for name in series)
    assert min(min(values) for values in series.values() if values) * 30 > first.at - 1020


def test_an_alert_without_an_explanation_is_an_error():
    size = {"days": 1, "groups": 1, "kinds": list(KINDS), "scrape": 30, "planted": []}
    row = {"alert": "KafkaGroupEmpty", "groups": {"eager": 1}, "sent": 0, "times": 1, "median": 0, "longest": 0}
    with pytest.raises(KeyError, match="KafkaGroupEmpty"):
        quiet_fleets([size, row], [size], {"KafkaGroupEmpty": "critical"})
