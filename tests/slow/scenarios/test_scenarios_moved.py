"""The coordinator of every group moves because one of three brokers stops: no group rebalances for it.

A transaction stays open in the offsets topic during the test.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from confluent_kafka.admin import AdminClient

from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import eventually
from support.scenarios.foreign_records import open_transactions
from support.scenarios.scenario_parts import (
    BROKER,
    CONSUMER,
    COOPERATIVE,
    EAGER,
    Episode,
    Join,
    Leave,
    Scenario,
    WaitAt,
    step,
)
from support.scenarios.scenario_runner import ScenarioRunner
from support.scenarios.step_results import compare_episodes, stall_differences

pytestmark = pytest.mark.slow

THREE = {
    **BROKER,
    # All groups have their coordinator on the one broker that is stopped.
    "offsets.topic.num.partitions": "1",
}
CLASSIC_AND_CONSUMER = [
    ("eager", "confluent", EAGER, 1, 1, 3),
    ("cooperative", "confluent", COOPERATIVE, 1, 2, 2),
    ("instrumented", "confluent-instrumented", EAGER, 1, 1, 3),
    ("consumer", "confluent", CONSUMER, 1, 1, 2),
]
SHARE_AND_STREAMS = [
    ("share", "share", {}, 2, 1, 2),
    ("streams", "streams-timed", {}, 1, 1, 2),
]
"""Name, client, settings, generations of a start and of a join, and the partitions that move with the third member."""


def _scenarios(kinds, stop_coordinator):
    before_stop, after_stop = threading.Barrier(len(kinds)), threading.Barrier(len(kinds), action=stop_coordinator)
    for name, client, settings, first, generations, moved in kinds:
        leave_cause = "member_left" if name == "instrumented" else "member_gone"
        steps = (
            step(Join("a"), then=Episode(("group_started",), generations=first)),
            step(Join("b"), then=Episode(("member_joined",), moved=3, generations=generations)),
            step(WaitAt(before_stop), WaitAt(after_stop), then=()),
            step(Join("c"), then=Episode(("member_joined",), moved=moved, generations=generations)),
            step(Leave("c"), then=Episode((leave_cause,), moved=moved)),
        )
        yield Scenario(name, client, steps, settings)


def _coordinator(bootstrap):
    """The broker that leads the only partition of the offsets topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def leader():
        """True if above 0; there are none while the topic is being created."""
        partition = admin.list_topics("__consumer_offsets", 30).topics["__consumer_offsets"].partitions.get(0)
        return partition and max(partition.leader, 0)

    return eventually(leader)


@pytest.mark.parametrize("kinds", [CLASSIC_AND_CONSUMER, SHARE_AND_STREAMS], ids=["classic-consumer", "share-streams"])
def test_a_moved_coordinator_causes_no_rebalance_and_later_rebalances_are_published(kinds):
    with EmbeddedKafka(3, properties=THREE) as kafka, ExitStack() as stack:
        bootstrap = kafka.bootstrap_servers
        before = _coordinator(bootstrap)
        scenarios = list(_scenarios(kinds, lambda: kafka.stop_broker(before)))
        runner = ScenarioRunner(kafka, stack, scenarios)
        stack.enter_context(open_transactions(bootstrap, ["open"], replicas=3))
        outcomes = runner.run_all(scenarios, at_once=len(scenarios))
        failed = [result for result in outcomes.values() if isinstance(result, BaseException)]
        assert failed == [], "\n".join(map(str, failed))
        assert _coordinator(bootstrap) != before
        for scenario in scenarios:
            results = outcomes[scenario.name]
            expected, published = compare_episodes(results)
            assert published == expected
            assert list(stall_differences(runner, scenario, results)) == []
            events = [event for result in results for event in result.events]
            assert [event["kind"] for event in events] == ["generation"] * len(events)
            numbers = runner.records.numbers(runner.group(scenario), results[-1].stable_ms)
            assert [event["generation"] for event in events] == numbers
