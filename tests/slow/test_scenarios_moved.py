"""The coordinator of every group moves because one of three brokers stops: no group rebalances for it.

A transaction is held open in the offsets topic meanwhile.
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
    Meet,
    Scenario,
    act,
)
from support.scenarios.scenario_runner import Stage
from support.scenarios.step_results import compared, misjudged

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
"""Name, client, settings, generations of a start and of a join, and what the third member's coming and going moves."""


def _scenarios(kinds, stopped):
    there, gone = threading.Barrier(len(kinds)), threading.Barrier(len(kinds), action=stopped)
    for name, client, settings, first, generations, moved in kinds:
        said = "member_left" if name == "instrumented" else "member_gone"
        acts = (
            act(Join("a"), then=Episode(("group_started",), generations=first)),
            act(Join("b"), then=Episode(("member_joined",), moved=3, generations=generations)),
            act(Meet(there), Meet(gone), then=()),
            act(Join("c"), then=Episode(("member_joined",), moved=moved, generations=generations)),
            act(Leave("c"), then=Episode((said,), moved=moved)),
        )
        yield Scenario(name, client, acts, settings)


def _coordinator(bootstrap):
    """The broker that leads the only partition of the offsets topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def leader():
        """Above 0; none as long as the topic is being created."""
        partition = admin.list_topics("__consumer_offsets", 30).topics["__consumer_offsets"].partitions.get(0)
        return partition and max(partition.leader, 0)

    return eventually(leader)


@pytest.mark.parametrize("kinds", [CLASSIC_AND_CONSUMER, SHARE_AND_STREAMS], ids=["classic-consumer", "share-streams"])
def test_a_coordinator_that_moves_costs_no_rebalance_and_none_after_it_is_missed(kinds):
    with EmbeddedKafka(3, properties=THREE) as kafka, ExitStack() as stack:
        bootstrap = kafka.bootstrap_servers
        before = _coordinator(bootstrap)
        scenarios = list(_scenarios(kinds, lambda: kafka.stop_broker(before)))
        stage = Stage(kafka, stack, scenarios)
        stack.enter_context(open_transactions(bootstrap, ["open"], replicas=3))
        played = stage.play_all(scenarios, at_once=len(scenarios))
        failed = [result for result in played.values() if isinstance(result, BaseException)]
        assert failed == [], "\n".join(map(str, failed))
        assert _coordinator(bootstrap) != before
        for scenario in scenarios:
            acts = played[scenario.name]
            expected, published = compared(acts)
            assert published == expected
            assert list(misjudged(stage, scenario, acts)) == []
            events = [event for part in acts for event in part.events]
            assert [event["kind"] for event in events] == ["generation"] * len(events)
            numbers = stage.journal.numbers(stage.group(scenario), acts[-1].rested_ms)
            assert [event["generation"] for event in events] == numbers
