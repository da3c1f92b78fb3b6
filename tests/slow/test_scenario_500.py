"""500 rebalances of all four group types at the same time: the observer publishes each one once."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from rebalance_agent.testing import EmbeddedKafka
from support.scenarios.scenario_parts import (
    BROKER,
    CONSUMER,
    COOPERATIVE,
    EAGER,
    Episode,
    Join,
    Leave,
    Scenario,
    act,
    kafka_python,
)
from support.scenarios.scenario_runner import Stage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

REBALANCES = 500
ANY = Episode(("member_joined",))  # what each of them is about is what the short scenarios look at

# Name, client, settings, rounds of one coming and one going, partitions, shares of them. Java's programs take seconds.
GROUPS = [
    *((f"eager-{number}", "confluent", EAGER, 25, 6, 1) for number in range(3)),
    *((f"cooperative-{number}", "confluent", COOPERATIVE, 25, 6, 1) for number in range(2)),
    *((f"consumer-{number}", "confluent", CONSUMER, 25, 6, 1) for number in range(3)),
    ("python", "kafka-python", kafka_python("range"), 25, 6, 1),
    ("reporting", "confluent-instrumented", EAGER, 25, 6, 1),
    ("share", "share", {}, 12, 6, 1),
    ("streams", "streams", {}, 12, 4, 2),
]


def _scenario(name, client, settings, rounds, partitions, each):
    turns = [
        what
        for number in range(rounds)
        for what in (act(Join(f"m{number}"), then=ANY), act(Leave(f"m{number}"), then=ANY))
    ]
    return Scenario(name, client, (act(Join("a"), then=ANY), *turns), settings, partitions, each=each)


def test_no_generation_of_500_rebalances_is_missed_or_reported_twice():
    scenarios = [_scenario(*each) for each in GROUPS]
    with EmbeddedKafka(properties=BROKER) as kafka, ExitStack() as stack:
        stage = Stage(kafka, stack, scenarios)
        played = stage.play_all(scenarios)
        failed = [result for result in played.values() if isinstance(result, BaseException)]
        assert failed == [], "\n".join(map(str, failed))
        reported = {
            name: [event["generation"] for part in acts for event in part.events] for name, acts in played.items()
        }
        held = {
            each.name: stage.journal.numbers(stage.group(each), played[each.name][-1].rested_ms) for each in scenarios
        }
        assert reported == held
        assert sum(map(len, held.values())) >= REBALANCES
        assert stage.observer.metric("rebalance_agent_events_dropped_total", where="kafka") == 0
