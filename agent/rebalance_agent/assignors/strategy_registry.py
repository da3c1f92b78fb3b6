"""All strategies by name, collected from the modules of ``strategies`` and ``units``.

Every `Strategy` at the top level of such a module is registered, and its cooperative form if it has one. So a new
strategy is a new module, and no list names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, ModuleType

from rebalance_agent.assignors import strategies, units
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.errors import AssignmentError

__all__ = ["STRATEGIES", "collect", "strategy"]


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(package.__path__):
        yield importlib.import_module(f"{package.__name__}.{module.name}")


def collect(modules: Iterable[ModuleType]) -> dict[str, Strategy]:
    """Return the strategies at the top level of ``modules``, with their cooperative forms, by name.

    Raises:
        ValueError: two different strategies have one name.
    """
    by_name: dict[str, Strategy] = {}
    for module in modules:
        for eager in [value for value in vars(module).values() if isinstance(value, Strategy)]:
            for form in (eager, eager.cooperative()) if eager.cooperative_form else (eager,):
                if by_name.setdefault(form.name, form) != form:
                    raise ValueError(f"{module.__name__}: another strategy is named {form.name}")
    return by_name


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    dict(sorted(collect((*_modules(strategies), *_modules(units))).items()))
)
"""Name -> strategy, sorted by name."""


def strategy(name: str) -> Strategy:
    """Return the strategy of that name.

    Raises:
        AssignmentError: there is none; the message lists the names.
    """
    chosen = STRATEGIES.get(name)
    if chosen is None:
        raise AssignmentError(f"there is no strategy {name[:200]!r}; the strategies are {', '.join(STRATEGIES)}")
    return chosen
