"""Plans units, which are partitions that stay together, and their copies, for all strategies with standbys.

A *kind* of unit is a set of topics with the same subscribers. Unit ``n`` of a kind consists of partition ``n`` of each
topic that has such a partition. A member's *host* is the member itself, or its process with all members in it. Units
are assigned to hosts first, then to members: ``unit_assignment`` places the units themselves, ``near_state`` lets units
wait for copies, and ``standby_spread`` places the standbys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from rebalance_agent.assignors.roster import CopiesPlan, Plan, Roster
from rebalance_agent.assignors.subscribers import indexes_by_value
from rebalance_agent.assignors.units.near_state import host_limits, near_state
from rebalance_agent.assignors.units.standby_spread import Demand, spread_copies
from rebalance_agent.assignors.units.unit_assignment import Unit, assign_units
from rebalance_agent.model.partitions import topic_partitions

__all__ = ["UnitKind", "plan_copies", "plan_units"]

_UnitName = tuple[int, int]
"""A unit's kind and number."""

_ByTopic = Mapping[str, Mapping[int, Iterable[int]]]
"""Topic -> member -> the partitions of the topic that the member has."""


@dataclass(frozen=True, slots=True)
class UnitKind:
    """``topics`` (indexes in the roster) whose partitions with the same number are a unit; ``members``: subscribers.

    ``units``: the number of units, which is the maximum partition count of the topics. ``copied``: topic -> partition
    count, for the topics that a standby copies: for unit ``n``, it copies partition ``n`` of each topic that has such a
    partition.
    """

    topics: tuple[int, ...]
    members: tuple[int, ...]
    units: int
    copied: Mapping[str, int] = field(default_factory=dict)


def plan_units(roster: Roster, kinds: Sequence[UnitKind], host_of: Sequence[int], factor: float) -> Plan:
    """Return the plan of all units; ``host_of`` has each member's host.

    If ``factor`` is above 1, units stay near their state (`near_state`), on hosts with at most this factor times their
    share.
    """
    assignment = _UnitAssignment(roster, kinds, host_of)
    names = _names(kinds)
    units = assignment.units(names)
    hosts = best = assign_units(assignment.host_sizes, assignment.sizes, units)
    if factor > 1:
        limits = host_limits(assignment.host_sizes, units, best, len(assignment.sizes), factor)
        hosts = near_state(units, best, assignment.sizes, limits, [bool(kind.copied) for kind in kinds])
        roster.cache.unit_hosts = best
    members = assignment.choose_members(names, hosts, assignment.owned, assignment.copied)
    return _as_plan(roster, assignment.contents, names, members)


def plan_copies(
    roster: Roster, kinds: Sequence[UnitKind], host_of: Sequence[int], count: int, target: Plan, now: Plan
) -> CopiesPlan:
    """Return up to ``count`` copies of each unit, on hosts other than the host of the unit's owner in ``target``.

    Hosts that have a copy are preferred, then hosts that owned the unit until now. There is one more copy on a host to
    which a unit will move (`near_state`). Likewise, a host with a copy that gets the unit only in the follow-up
    rebalance, not ``now``, keeps its copy until then.
    """
    if not count or not any(kind.copied for kind in kinds):
        return CopiesPlan(roster.empty_plan(), roster.empty_plan())
    assignment = _UnitAssignment(roster, kinds, host_of)
    active, current = (_Held(assignment.contents, _inverted(plan)) for plan in (target, now))
    units, demands, extras, awaited, missing = [], [], [], set(), 0
    for (kind, number), best in zip(_names(kinds), roster.cache.unit_hosts or repeat(None), strict=False):
        if not kinds[kind].copied:
            continue
        (host,) = assignment.hosts(kind, active.main_holders(kind, number))
        able: Collection[int] = assignment.host_sizes[kind]
        copied = assignment.hosts(kind, assignment.copied.main_holders(kind, number))
        if best is not None and best != host:
            extras.append(((kind, number), best))
            awaited.add((kind, number))
            able = [other for other in able if other != best]
        elif host in copied and host not in assignment.hosts(kind, current.main_holders(kind, number)):
            extras.append(((kind, number), host))
        owned = assignment.hosts(kind, assignment.owned.main_holders(kind, number))
        units.append((kind, number))
        possible = min(count, len(able) - 1)
        missing += count - possible
        demands.append(Demand(possible, host, able, tuple(dict.fromkeys((*copied, *owned)))))
    copies = extras + [
        (unit, host)
        for unit, hosts in zip(units, spread_copies(demands, assignment.sizes), strict=True)
        for host in hosts
    ]
    copied_units, hosts = [unit for unit, _ in copies], [host for _, host in copies]
    members = assignment.choose_members(copied_units, hosts, assignment.copied, assignment.owned)
    contents = [kind.copied for kind in kinds]
    waiting = [(unit, member) for (unit, _), member in zip(extras, members, strict=False) if unit in awaited]
    return CopiesPlan(
        _as_plan(roster, contents, copied_units, members),
        _as_plan(roster, contents, [unit for unit, _ in waiting], [member for _, member in waiting]),
        missing,
    )


def _names(kinds: Sequence[UnitKind]) -> list[_UnitName]:
    return [(kind, number) for kind, unit_kind in enumerate(kinds) for number in range(unit_kind.units)]


class _Held:
    """The part of each unit that members have; ``contents``: topic -> partition count, for the topics of each kind."""

    def __init__(self, contents: Sequence[Mapping[str, int]], by_topic: _ByTopic) -> None:
        self._counts: list[dict[int, dict[int, int]]] = []
        for topics in contents:
            counts: dict[int, dict[int, int]] = {}
            for name, partitions in topics.items():
                for member, numbers in by_topic.get(name, {}).items():
                    for number in numbers:
                        if number < partitions:
                            of_unit = counts.setdefault(number, {})
                            of_unit[member] = of_unit.get(member, 0) + 1
            self._counts.append(counts)

    def main_holders(self, kind: int, number: int) -> tuple[int, ...]:
        """Return the members with most partitions of a unit: nearly always one member, which has all the partitions."""
        counts = self._counts[kind].get(number)
        if not counts:
            return ()
        if len(counts) == 1:
            return tuple(counts)
        largest = max(counts.values())
        return tuple(sorted(member for member, count in counts.items() if count == largest))


class _UnitAssignment:
    """The units and hosts of a roster.

    ``contents``: by kind, topic -> partition count, for the kind's topics; ``host_sizes``: by kind, host -> number of
    the kind's subscribers on it; ``sizes``: by host, the number of members with a subscription, at least 1.
    """

    def __init__(self, roster: Roster, kinds: Sequence[UnitKind], host_of: Sequence[int]) -> None:
        self._kinds = kinds
        self._host_of = host_of
        busy = set[int]().union(*(kind.members for kind in kinds))
        at = Counter(host for member, host in enumerate(host_of) if member in busy)
        # A host without subscribers takes no units, whatever its size.
        self.sizes = [at[host] or 1 for host in range(max(host_of, default=-1) + 1)]
        self.host_sizes: list[dict[int, int]] = []
        for kind in kinds:
            host_sizes: dict[int, int] = {}
            for member in kind.members:
                host_sizes[host_of[member]] = host_sizes.get(host_of[member], 0) + 1
            self.host_sizes.append(host_sizes)
        counts = roster.partitions
        self.contents = [{roster.topics[topic]: counts[topic] for topic in kind.topics} for kind in kinds]
        owned = {name: topic.owned for name, topic in zip(roster.topics, roster.ownership, strict=True)}
        self.owned = _Held(self.contents, owned)
        self.copied = _Held([kind.copied for kind in kinds], _inverted(roster.standbys))

    def units(self, names: Iterable[_UnitName]) -> list[Unit]:
        """Return the units, each with the hosts that have the unit or a copy of it."""
        return [
            Unit(
                kind,
                self.hosts(kind, self.owned.main_holders(kind, number)),
                self.hosts(kind, self.copied.main_holders(kind, number)),
            )
            for kind, number in names
        ]

    def hosts(self, kind: int, members: Iterable[int]) -> tuple[int, ...]:
        """Return, once each, the hosts of ``members`` that may take units of ``kind``."""
        host_sizes = self.host_sizes[kind]
        return tuple(dict.fromkeys(host for member in members if (host := self._host_of[member]) in host_sizes))

    def choose_members(
        self, units: Sequence[_UnitName], hosts: Sequence[int], first: _Held, second: _Held
    ) -> list[int]:
        """Return each unit's member on its host: preferably one that has it in ``first``, or else in ``second``."""
        members = indexes_by_value(self._host_of)
        result = [-1] * len(units)
        for host, indices in indexes_by_value(hosts).items():
            host_members = members[host]
            chosen = [0] * len(indices)
            if len(host_members) > 1:
                chosen = self._choose_within_host(host_members, [units[index] for index in indices], first, second)
            for index, position in zip(indices, chosen, strict=True):
                result[index] = host_members[position]
        return result

    def _choose_within_host(
        self, members: Sequence[int], units: Sequence[_UnitName], first: _Held, second: _Held
    ) -> list[int]:
        """Return the position of each unit's member in ``members``, which are the members of one host."""
        kinds = {kind: turn for turn, kind in enumerate(dict.fromkeys(kind for kind, _ in units))}
        entitled = [set(self._kinds[kind].members) for kind in kinds]
        host_sizes = [
            {position: 1 for position, member in enumerate(members) if member in kind_members}
            for kind_members in entitled
        ]

        def positions(kind: int, holders: Iterable[int]) -> tuple[int, ...]:
            # Members on other hosts do not count here.
            return tuple(position for position in host_sizes[kinds[kind]] if members[position] in holders)

        return assign_units(
            host_sizes,
            [1] * len(members),
            [
                Unit(
                    kinds[kind],
                    positions(kind, first.main_holders(kind, number)),
                    positions(kind, second.main_holders(kind, number)),
                )
                for kind, number in units
            ],
        )


def _inverted(given: Sequence[Mapping[str, Iterable[int]]]) -> _ByTopic:
    by_topic: dict[str, dict[int, Iterable[int]]] = {}
    for member, topics in enumerate(given):
        for topic, numbers in topics.items():
            by_topic.setdefault(topic, {})[member] = numbers
    return by_topic


def _as_plan(
    roster: Roster, contents: Sequence[Mapping[str, int]], units: Sequence[_UnitName], members: Sequence[int]
) -> Plan:
    """Return the partitions of units as a plan; ``contents``: topic -> partition count, for each kind's topics."""
    plan: list[list[tuple[str, int]]] = [[] for _ in roster.members]
    for (kind, number), member in zip(units, members, strict=True):
        for topic, count in contents[kind].items():
            if number < count:
                plan[member].append((topic, number))
    return list(map(topic_partitions, plan))
