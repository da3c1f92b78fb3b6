"""The registry collects every strategy of the modules beside it, and derives cooperative forms."""

from types import ModuleType

import pytest

from rebalance_agent.assignors import STRATEGIES, Strategy
from rebalance_agent.assignors.strategies.range import ranges
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX
from rebalance_agent.assignors.strategy_registry import collect
from rebalance_agent.model.group import RebalanceProtocol


def test_the_registry_is_sorted_by_the_strategies_names():
    assert list(STRATEGIES) == sorted(STRATEGIES)
    assert all(name == strategy.name for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_and_its_cooperative_form_are_two_entries(name):
    strategy = STRATEGIES[name]
    assert (COOPERATIVE_PREFIX + name in STRATEGIES) == strategy.cooperative_form
    assert name.startswith(COOPERATIVE_PREFIX) == (strategy.protocol is RebalanceProtocol.COOPERATIVE)
    if strategy.cooperative_form:
        assert STRATEGIES[COOPERATIVE_PREFIX + name] == strategy.cooperative()


def test_a_new_strategy_needs_only_a_new_module():
    module = ModuleType("own")
    module.OWN = Strategy("own", RebalanceProtocol.EAGER, "as range", ranges, cooperative_form=True)
    assert list(collect([module])) == ["own", "cooperative-own"]


def test_two_strategies_with_the_same_name_are_refused():
    modules = [ModuleType("one"), ModuleType("two")]
    for module in modules:
        module.OWN = Strategy("own", RebalanceProtocol.EAGER, f"of {module.__name__}", ranges)
    with pytest.raises(ValueError, match="two: another strategy is named own"):
        collect(modules)
