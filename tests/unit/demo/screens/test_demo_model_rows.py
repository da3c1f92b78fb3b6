from __future__ import annotations

import pytest

from rebalance_agent.demo.scenario import GROUPS, STEPS, TOPICS, group_named
from rebalance_agent.demo.scenario_types import ClientLibrary, DemoGroup, DemoMember, DemoStep, StartMember
from rebalance_agent.demo.screens.model_rows import HEADINGS, model_rows

PEERS = DemoGroup(
    "g", "", ClientLibrary.KAFKA_PYTHON, "sticky", "t", (DemoMember("a"), DemoMember("b"), DemoMember("c"))
)


def table(group, topics):
    step = DemoStep("join", "", (StartMember(group.name, group.members[-1].name),), ())
    return rows((group,), (step,), topics)


def rows(*scenario):
    lines = model_rows(*scenario)
    assert all(len(line) == len(HEADINGS) for line in lines)
    return [list(line) for line in lines]


def test_an_eager_join_stops_all_partitions_once_and_a_cooperative_one_only_moved_ones_in_two_generations():
    assert table(PEERS, {"t": 12}) == [
        ["c joins g", "sticky", "1", "all 12"],
        ["c joins g", "cooperative-sticky", "2", "4 of 12"],
    ]


def test_the_table_counts_the_topics_that_the_group_subscribes_to():
    by_pattern = DemoGroup("g", "", ClientLibrary.KAFKA_PYTHON, "cooperative-sticky", "^t-.*", PEERS.members)
    assert [row[-1] for row in table(by_pattern, {"t-1": 6, "t-2": 3, "other": 100})] == ["all 9", "3 of 9"]


def test_if_all_partitions_move_the_cooperative_protocol_also_stops_all():
    members = [DemoMember(name, {"assignment.consumer.priority": name}) for name in ("100", "200")]
    failover = DemoGroup("g", "", ClientLibrary.KAFKA_PYTHON, "failover", "t", tuple(members))
    assert [row[2:] for row in table(failover, {"t": 6})] == [["1", "all 6"], ["2", "all 6"]]


@pytest.mark.parametrize("strategy", ["range", "shuffled-roundrobin"])
def test_a_strategy_without_a_cooperative_form_has_no_row(strategy):
    assert table(DemoGroup("g", "", ClientLibrary.KAFKA_PYTHON, strategy, "t", PEERS.members), {"t": 12}) == []


def test_the_demo_compares_each_of_its_joins_into_a_group_whose_strategy_has_both_forms():
    joins = [action for step in STEPS for action in step.actions if isinstance(action, StartMember)]
    joins = [join for join in joins if group_named(join.group).assignor not in ("shuffled-roundrobin", "range")]
    assert [row[0] for row in rows(GROUPS, STEPS, TOPICS)] == [
        f"{join.member} joins {join.group}" for join in joins for _ in range(2)
    ]
