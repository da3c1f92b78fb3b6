"""When polls are started before their time."""

from collections import deque
from types import SimpleNamespace

from rebalance_agent.clock import FakeClock
from rebalance_agent.runtime.watch.poll_triggers import READS_AGAIN_S, PollTriggers
from rebalance_agent.tracking.observations import Tick
from support.observer.fakes import Calls


def test_open_questions_start_a_poll_but_not_one_for_each_observation():
    schedule, clock, reads = Calls(), FakeClock(), SimpleNamespace(questions=deque())
    triggers = PollTriggers(schedule, SimpleNamespace(unknown=lambda *_: False), reads, clock)
    triggers.on_observation(Tick(0))
    assert schedule.made == []
    reads.questions.append("question")
    for _ in range(3):
        triggers.on_observation(Tick(0))
    assert schedule.of("soon") == [("read_times",)]
    clock.advance(round(READS_AGAIN_S * 1000))
    triggers.on_observation(Tick(0))
    assert len(schedule.of("soon")) == 2
