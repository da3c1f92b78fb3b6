"""A scenario is repeated if the brokers paused during it, and only then."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import ExitStack

import pytest

from rebalance_agent.testing import EmbeddedKafka
from support.kafka.stillness import STILL_S
from support.scenarios.scenario_parts import BROKER, EAGER, Episode, Join, Leave, Scenario, WaitAt, step
from support.scenarios.scenario_runner import ScenarioRunner
from support.scenarios.step_results import compare_episodes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]


class PauseOnce:
    """A barrier at which the first thread stops these processes for a while."""

    def __init__(self, processes):
        self._processes = list(processes)

    def wait(self, _timeout_s):
        processes, self._processes = self._processes, []
        for each in processes:
            os.kill(each, signal.SIGSTOP)
        threading.Event().wait(2 * STILL_S if processes else 0)
        for each in processes:
            os.kill(each, signal.SIGCONT)


@pytest.mark.parametrize("paused", [True, False])
def test_a_scenario_is_repeated_if_the_brokers_paused(paused):
    with EmbeddedKafka(properties=BROKER) as kafka, ExitStack() as stack:
        pause = WaitAt(PauseOnce(map(kafka.pid, kafka.node_ids) if paused else ()))
        steps = (
            step(Join("a"), then=Episode(("group_started",))),
            step(pause, Join("b"), then=Episode(("member_joined",), moved=3)),
            step(Leave("b"), then=Episode(("member_gone",), moved=3)),
        )
        scenario = Scenario("paused", "confluent", steps, EAGER)
        runner = ScenarioRunner(kafka, stack, [scenario])
        first = runner.group(scenario)
        results = runner.run_all([scenario], attempts=2)[scenario.name]
        assert (runner.group(scenario) != first) is paused
        expected, published = compare_episodes(results)
        assert published == expected
