from __future__ import annotations

from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.runtime.watch.inbox_age import BEHIND_S, InboxAge
from rebalance_agent.tracking.observations import Tick
from support.observer.fakes import fake_context


def test_an_observer_with_outdated_data_is_not_ready():
    context = fake_context()
    context.inbox._clock = context.clock
    measure = InboxAge(context)
    context.inbox.put(Tick(1))
    measure()
    context.clock.advance(round(BEHIND_S * 1_000))
    measure()
    context.inbox.take(1, 0)
    context.inbox.take(1, 0)
    measure()
    assert context.meters.of("observation_age") == [(0.0,), (BEHIND_S,), (0.0,)]
    assert [name for name, *_ in context.health.made] == ["ready", "unready", "ready"]
    assert "30 s ago" in context.health.made[1][2]


def test_the_age_of_an_inbox_with_another_clock_is_in_real_time():
    assert Inbox().age == 0.0
