"""The coordinator of every group moves, because its broker of three is stopped: nobody rebalances for it."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from confluent_kafka.admin import AdminClient

from rebalance_agent.testing import EmbeddedKafka
from support.scenarios import (
    BROKER,
    CONSUMER,
    COOPERATIVE,
    EAGER,
    Episode,
    Join,
    Leave,
    Meet,
    Scenario,
    Stage,
    act,
    compared,
)

pytestmark = pytest.mark.slow

THREE = {
    **BROKER,
    # All groups have their coordinator on the one broker that is stopped.
    "offsets.topic.num.partitions": "1",
}
KINDS = [
    ("eager", "confluent", EAGER, 1, 3),
    ("cooperative", "confluent", COOPERATIVE, 2, 2),
    ("instrumented", "confluent-instrumented", EAGER, 1, 3),
    # librdkafka 2.16 now and then never gives up what it is asked to while brokers change: a Java client does.
    ("consumer", "java", CONSUMER, 1, 2),
]
"""Name, client, settings, generations of a join, and partitions that the third member's coming and going moves."""


def _scenarios(stopped):
    there, gone = threading.Barrier(len(KINDS)), threading.Barrier(len(KINDS), action=stopped)
    for name, client, settings, generations, moved in KINDS:
        said = "member_left" if name == "instrumented" else "member_gone"
        acts = (
            act(Join("a"), then=Episode(("group_started",))),
            act(Join("b"), then=Episode(("member_joined",), moved=3, generations=generations)),
            act(Meet(there), Meet(gone), then=()),
            act(Join("c"), then=Episode(("member_joined",), moved=moved, generations=generations)),
            act(Leave("c"), then=Episode((said,), moved=moved)),
        )
        yield Scenario(name, client, acts, settings)


def _coordinator(bootstrap):
    """The broker that leads the only partition of the offsets topic."""
    topics = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics("__consumer_offsets", 30).topics
    return topics["__consumer_offsets"].partitions[0].leader


def test_a_coordinator_that_moves_costs_no_rebalance_and_none_after_it_is_missed():
    with EmbeddedKafka(3, properties=THREE) as kafka, ExitStack() as stack:
        bootstrap = kafka.bootstrap_servers
        before = _coordinator(bootstrap)
        scenarios = list(_scenarios(lambda: kafka.stop_broker(before)))
        stage = Stage(kafka, stack, scenarios)
        played = stage.play_all(scenarios)
        failed = [result for result in played.values() if isinstance(result, BaseException)]
        assert failed == [], "\n".join(map(str, failed))
        assert _coordinator(bootstrap) != before
        for scenario in scenarios:
            acts = played[scenario.name]
            expected, published = compared(acts)
            assert published == expected
            events = [event for part in acts for event in part.events]
            assert [event["kind"] for event in events] == ["generation"] * len(events)
            numbers = stage.journal.numbers(stage.group(scenario), acts[-1].rested_ms)
            assert [event["generation"] for event in events] == numbers
