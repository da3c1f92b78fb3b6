"""Finds and loads strategies that other packages declare as entry points.

Only installed distributions have entry points; no setting and no record of a group can name a module. The names of the
entry points are read once, from the metadata of the distributions. A package is imported when its strategy is looked
up, or when all strategies are listed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from rebalance_agent.assignors.plugins.guarded_strategy import error_text, guarded
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX, Strategy
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["ENTRY_POINT_GROUP", "OUR_PACKAGE", "EntryPoint", "Plugin", "Plugins", "installed_entry_points"]

ENTRY_POINT_GROUP = "rebalance_agent.strategies"
"""The group of entry points: the name of an entry point is the strategy's name, its object is a `Strategy`."""

OUR_PACKAGE = "kafka-rebalance-agent"
"""The distribution of this package."""

SETTING_PREFIX = "assignment."
"""The prefix of every strategy's settings, by which a gateway's rules detect where the next setting begins."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_logger = logging.getLogger(__name__)


class EntryPoint(Protocol):
    """The part of ``importlib.metadata.EntryPoint`` that this module uses."""

    @property
    def name(self) -> str:
        """The name of the strategy."""
        ...

    @property
    def value(self) -> str:
        """``module:object``."""
        ...

    @property
    def dist(self) -> Any:  # noqa: ANN401 - a Distribution, None for entry points without one
        """The distribution that declares the entry point."""
        ...

    def load(self) -> object:
        """Import the module; return the object."""
        ...


@dataclass(frozen=True, slots=True)
class Plugin:
    """A strategy that a distribution declares.

    ``package``: the distribution with its version, or all distributions that declare the strategy. ``strategy``: the
    eager form, guarded; None if the strategy cannot be used, in which case ``problem`` states the reason and the
    solution.
    """

    name: str
    package: str
    strategy: Strategy | None = None
    problem: str = ""

    def __str__(self) -> str:
        """Format the plugin for an error: its name, its package, and its problem."""
        problem = f" cannot be used: {self.problem}" if self.problem else ""
        return f"strategy {self.name!r} of {self.package}{problem}"


def installed_entry_points() -> Iterable[EntryPoint]:
    """Return the entry points that the installed distributions declare for strategies."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than all of this package's assignors

    return entry_points(group=ENTRY_POINT_GROUP)


class Plugins:
    """The declared strategies of one process. ``ours``: those of this package, whose names are taken."""

    def __init__(
        self, ours: Mapping[str, Strategy], scan: Callable[[], Iterable[EntryPoint]] = installed_entry_points
    ) -> None:
        """Read nothing yet; ``scan`` is called once, at the first use."""
        self._ours = ours
        self._scan = scan
        self._loaded: dict[str, Plugin] = {}
        self._reported: set[str] = set()

    @cached_property
    def _declared(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        """Name -> its entry points, sorted: more than one if several packages use the same name."""
        declared: dict[str, list[EntryPoint]] = {}
        try:
            for entry in self._scan():
                declared.setdefault(entry.name, []).append(entry)
        except Exception as error:  # noqa: BLE001 - metadata of any package may be broken
            _logger.warning("cannot read the entry points of strategies in other packages: %s", error_text(error))
        return {name: tuple(sorted(declared[name], key=lambda point: point.value)) for name in sorted(declared)}

    @property
    def names(self) -> tuple[str, ...]:
        """The declared names, sorted; nothing is imported for them."""
        return tuple(self._declared)

    def find(self, name: str) -> Plugin | None:
        """Return the plugin whose eager form has that name; None if no package declares such a plugin.

        A plugin that cannot be used is not tried again in this process.
        """
        entries = self._declared.get(name)
        if entries is None:
            return None
        if name not in self._loaded:
            self._loaded[name] = self._conflict(name, entries) or _load(entries[0], self._ours)
        return self._loaded[name]

    def usable(self, name: str) -> Strategy | None:
        """Return the strategy of that name, an eager or a cooperative form, if a package declares one.

        Return None if the strategy cannot be used; the first such call logs the reason.
        """
        eager = name.removeprefix(COOPERATIVE_PREFIX)
        plugin = self.find(eager)
        if plugin is None:
            return None
        if plugin.strategy is None:
            if eager not in self._reported:
                self._reported.add(eager)
                _logger.warning("%s", plugin)
            return None
        return plugin.strategy if name == eager else _cooperative(plugin.strategy)

    def all_usable(self) -> dict[str, Strategy]:
        """Return name -> strategy, with cooperative forms, of all plugins that can be used."""
        names = [form for name in self.names for form in (name, COOPERATIVE_PREFIX + name)]
        strategies = {name: self.usable(name) for name in names}
        return {name: strategy for name, strategy in strategies.items() if strategy is not None}

    def unusable(self) -> tuple[Plugin, ...]:
        """Return the plugins that cannot be used, sorted by name. The log does not repeat them."""
        plugins = [plugin for name in self.names if (plugin := self.find(name)) is not None and plugin.strategy is None]
        self._reported.update(plugin.name for plugin in plugins)
        return tuple(plugins)

    def _conflict(self, name: str, entries: tuple[EntryPoint, ...]) -> Plugin | None:
        packages = [*([f"{OUR_PACKAGE} itself"] if name in self._ours else []), *map(_package, entries)]
        if len(packages) == 1:
            return None
        whose = " and ".join(packages)
        problem = (
            "several packages declare this name: uninstall all but one of them, or give the strategies other names"
        )
        return Plugin(name, whose, problem=problem)


def _load(entry: EntryPoint, ours: Mapping[str, Strategy]) -> Plugin:
    package = _package(entry)

    def unusable(problem: str) -> Plugin:
        return Plugin(entry.name, package, problem=f"{entry.value}: {problem}")

    try:
        loaded = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of another package
        return unusable(f"{error_text(error)}: repair or uninstall the package")
    if not isinstance(loaded, Strategy):
        return unusable(f"must be a rebalance_agent.assignors.Strategy, not {type(loaded).__name__}")
    if problem := _breach(entry.name, loaded, ours):
        return unusable(problem)
    return Plugin(entry.name, package, guarded(loaded, f"strategy {entry.name!r} of {package}"))


def _breach(name: str, loaded: Strategy, ours: Mapping[str, Strategy]) -> str:
    """Return why ``loaded`` cannot be used under that name; empty if it can."""
    if not _NAME.fullmatch(name) or name.startswith(COOPERATIVE_PREFIX):
        return (
            "a name has up to 100 letters, digits, dots, underscores and hyphens, and does not begin with "
            f"{COOPERATIVE_PREFIX}, which is for cooperative forms"
        )
    if loaded.name != name:
        return f"the strategy is named {loaded.name!r:.80}: its entry point needs the same name"
    if loaded.protocol is not RebalanceProtocol.EAGER:
        return "declare the eager form; cooperative_form=True adds the cooperative one"
    taken = {setting.name: setting for strategy in ours.values() for setting in strategy.config}
    for setting in loaded.config:
        if not setting.name.startswith(f"{SETTING_PREFIX}{name}.") and taken.get(setting.name) != setting:
            return (
                f"the name of its setting {setting.name!r:.80} must begin with '{SETTING_PREFIX}{name}.', or the "
                f"setting must be an object of {OUR_PACKAGE}"
            )
    return ""


def _cooperative(strategy: Strategy) -> Strategy | None:
    return strategy.cooperative() if strategy.cooperative_form else None


def _package(entry: EntryPoint) -> str:
    try:
        return f"{entry.dist.name} {entry.dist.version}"
    except Exception:  # noqa: BLE001 - a distribution whose metadata is broken
        return "a package without a name"
