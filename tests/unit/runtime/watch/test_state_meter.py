from __future__ import annotations

from rebalance_agent.runtime.watch.state_meter import StateMeter
from rebalance_agent.tracking.memory.state_budget import StateBudget
from rebalance_agent.tracking.observations import Tick
from support.observer.fakes import Calls


def test_records_over_the_budget_are_counted_once_and_their_groups_named():
    budget, meters = StateBudget(lambda _: False, 0), Calls()
    meter = StateMeter(budget, meters)
    budget.reports("small", 1_000)
    budget.admits("new", 1_000, live=True, whole=True)
    budget.reports("small", 1_000)
    meter.on_observation(Tick(2_000))
    meter.on_observation(Tick(3_000))
    assert meters.of("over_budget") == [("unreported", 2), ("skipped", 1)]
    assert meters.of("groups_over_budget") == [("memory", ["new", "small"])] * 2
