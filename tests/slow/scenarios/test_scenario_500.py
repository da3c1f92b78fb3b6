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
    kafka_python,
    step,
)
from support.scenarios.scenario_runner import ScenarioRunner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

REBALANCES = 500
ANY = Episode(("member_joined",))  # the short scenarios check the details of each

# Name, client, settings, rounds of one join and one leave, partitions, members' partitions for each. A round of Java's
# programs takes seconds.
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
    rounds_of_steps = [
        each_step
        for number in range(rounds)
        for each_step in (step(Join(f"m{number}"), then=ANY), step(Leave(f"m{number}"), then=ANY))
    ]
    return Scenario(name, client, (step(Join("a"), then=ANY), *rounds_of_steps), settings, partitions, each=each)


def test_no_generation_of_500_rebalances_is_missed_or_reported_twice():
    scenarios = [_scenario(*each) for each in GROUPS]
    with EmbeddedKafka(properties=BROKER) as kafka, ExitStack() as stack:
        runner = ScenarioRunner(kafka, stack, scenarios)
        outcomes = runner.run_all(scenarios)
        failed = [result for result in outcomes.values() if isinstance(result, BaseException)]
        assert failed == [], "\n".join(map(str, failed))
        reported = {
            name: [event["generation"] for result in results for event in result.events]
            for name, results in outcomes.items()
        }
        held = {
            each.name: runner.records.numbers(runner.group(each), outcomes[each.name][-1].stable_ms)
            for each in scenarios
        }
        assert reported == held
        assert sum(map(len, held.values())) >= REBALANCES
        assert runner.observer.metric("rebalance_agent_events_dropped_total", where="kafka") == 0
