"""Finds strategies by name: those in this package, and those that other packages declare as entry points.

The strategies of this package are collected from the modules of ``strategies`` and ``units``: every `Strategy` at the
top level of such a module, and its cooperative form if there is one. So a new strategy only needs a new module; there
is no list of names. Other packages are imported only when a caller looks up one of their names or lists all strategies
(see ``plugins``).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from rebalance_agent.assignors import strategies, units
from rebalance_agent.assignors.plugins.guarded_strategy import guarded
from rebalance_agent.assignors.plugins.installed_plugins import OUR_PACKAGE, Plugin, Plugins
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX, Strategy
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.errors import AssignmentError
from rebalance_agent.visible_names import did_you_mean

__all__ = [
    "STRATEGIES",
    "checked",
    "collect",
    "find_setting",
    "find_strategy",
    "known_settings",
    "known_strategies",
    "package_of",
    "strategy",
    "unusable_plugins",
]


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
"""Name -> strategy of this package, sorted by name."""

_SETTINGS: Mapping[str, Setting[Any]] = {
    setting.name: setting for entry in STRATEGIES.values() for setting in entry.config
}

_PLUGINS = Plugins(STRATEGIES)


def strategy(name: str) -> Strategy:
    """Return the strategy that a user chose by its name.

    Raises:
        AssignmentError: no strategy has this name (the message lists the names), the strategy cannot be used, or
        several packages declare its name.
    """
    plugin = _PLUGINS.find(name.removeprefix(COOPERATIVE_PREFIX))
    if plugin is not None and plugin.strategy is None:
        raise AssignmentError(str(plugin))
    chosen = find_strategy(name)
    if chosen is None and plugin is not None:
        raise AssignmentError(f"{plugin} has no cooperative form")
    if chosen is None:
        names = sorted({*STRATEGIES, *_PLUGINS.names})
        more = "another package's strategy is known only where that package is installed"
        meant = did_you_mean(name[:200], names) or f"; the strategies are {', '.join(names)}; {more}"
        raise AssignmentError(f"there is no strategy {name[:200]!r}{meant}")
    return chosen


def find_strategy(name: str) -> Strategy | None:
    """Return the strategy with the name that a group uses; None if no such strategy exists or can be used.

    A name of this package always means its own strategy, even if another package declares the name.
    """
    return STRATEGIES.get(name) or _PLUGINS.usable(name)


def known_strategies() -> Mapping[str, Strategy]:
    """Return name -> strategy, sorted by name, of this package and of all others that can be used."""
    return MappingProxyType(dict(sorted({**_PLUGINS.all_usable(), **STRATEGIES}.items())))


def find_setting(name: str) -> Setting[Any] | None:
    """Return the setting of that name from any strategy; None if no strategy has it. Equal names are one setting."""
    return _SETTINGS.get(name) or known_settings().get(name)


def known_settings() -> dict[str, Setting[Any]]:
    """Return the settings of all `known_strategies` by name."""
    return {**{setting.name: setting for entry in known_strategies().values() for setting in entry.config}, **_SETTINGS}


def unusable_plugins() -> tuple[Plugin, ...]:
    """Return the declared strategies of other packages that cannot be used, sorted by name, to be shown to users."""
    return _PLUGINS.unusable()


def package_of(name: str) -> str:
    """Return the distribution that contains the strategy; for another package, also its version."""
    plugin = None if name in STRATEGIES else _PLUGINS.find(name.removeprefix(COOPERATIVE_PREFIX))
    return OUR_PACKAGE if plugin is None else plugin.package


def checked(chosen: Strategy) -> Strategy:
    """Return ``chosen``, with guards around its functions unless it is a strategy of this package."""
    return chosen if STRATEGIES.get(chosen.name) == chosen else guarded(chosen, f"strategy {chosen.name!r:.200}")
