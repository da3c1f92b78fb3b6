"""A scenario is repeated if the brokers paused during it, and only then."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import ExitStack

import pytest

from rebalance_agent.testing import EmbeddedKafka
from support.kafka.stillness import STILL_S
from support.scenarios.scenario_parts import BROKER, EAGER, Episode, Join, Leave, Meet, Scenario, act
from support.scenarios.scenario_runner import Stage
from support.scenarios.step_results import compared

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]


class Once:
    """A barrier at which the first thread stops these processes for a while."""

    def __init__(self, processes):
        self._processes = list(processes)

    def wait(self, _patience):
        processes, self._processes = self._processes, []
        for each in processes:
            os.kill(each, signal.SIGSTOP)
        threading.Event().wait(2 * STILL_S if processes else 0)
        for each in processes:
            os.kill(each, signal.SIGCONT)


@pytest.mark.parametrize("still", [True, False])
def test_it_is_played_again_if_the_brokers_stood_still(still):
    with EmbeddedKafka(properties=BROKER) as kafka, ExitStack() as stack:
        pause = Meet(Once(map(kafka.pid, kafka.node_ids) if still else ()))
        acts = (
            act(Join("a"), then=Episode(("group_started",))),
            act(pause, Join("b"), then=Episode(("member_joined",), moved=3)),
            act(Leave("b"), then=Episode(("member_gone",), moved=3)),
        )
        scenario = Scenario("still", "confluent", acts, EAGER)
        stage = Stage(kafka, stack, [scenario])
        first = stage.group(scenario)
        played = stage.play_all([scenario], plays=2)[scenario.name]
        assert (stage.group(scenario) != first) is still
        expected, published = compared(played)
        assert published == expected
