"""Units: partitions that stay together, and what is known of them. The common ground of the strategies with standbys.

A *kind* of unit is some topics with the same subscribers; its unit ``n`` is partition ``n`` of each of them that has
one. A member's *place* is itself, or its process with all the members there. Units go to places first, then to members:
``allotment`` says what is best for the units themselves, ``standby_spread`` for their standbys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.units.standby_spread import Demand, spread_copies
from rebalance_agent.assignors.units.unit_assignment import Unit, allot

__all__ = ["UnitKind", "copartitions", "plan_standbys", "plan_units"]

_UnitName = tuple[int, int]
"""Kind and number."""

_ByTopic = Mapping[str, Mapping[int, Iterable[int]]]
"""Topic -> member -> partitions that it has."""


@dataclass(frozen=True, slots=True)
class UnitKind:
    """``topics`` (places in the roster) whose partitions of one number are a unit, and ``members``: their subscribers.

    ``units``: how many there are, the most partitions of a topic. ``copied``: topic -> its partitions, for the topics
    that a standby copies: of unit ``n``, partition ``n`` of each that has one.
    """

    topics: tuple[int, ...]
    members: tuple[int, ...]
    units: int
    copied: Mapping[str, int] = field(default_factory=dict)


def copartitions(roster: Roster) -> list[tuple[int, ...]]:
    """Topics in groups of equal partition count and equal subscribers."""
    groups: dict[tuple[int, int], list[int]] = {}
    for topic, (count, members) in enumerate(zip(roster.partitions, roster.subscribers, strict=True)):
        # Topics with the same subscribers share one tuple, see Roster.
        groups.setdefault((count, id(members)), []).append(topic)
    return [tuple(topics) for topics in groups.values()]


def plan_units(roster: Roster, kinds: Sequence[UnitKind], place_of: Sequence[int]) -> Plan:
    """Give out all units; ``place_of`` says each member's place."""
    case = _Case(roster, kinds, place_of)
    every = [(kind, number) for kind, each in enumerate(kinds) for number in range(each.units)]
    places = allot(
        case.rooms,
        case.sizes,
        [
            Unit(
                kind,
                case.places(kind, case.owned.most(kind, number)),
                case.places(kind, case.copied.most(kind, number)),
            )
            for kind, number in every
        ],
    )
    members = case.among_members(every, places, case.owned, case.copied)
    return _as_plan(roster, case.contents, every, members)


def plan_standbys(roster: Roster, kinds: Sequence[UnitKind], place_of: Sequence[int], count: int, plan: Plan) -> Plan:
    """Up to ``count`` copies of each unit, at places other than that of its owner in ``plan``.

    Who has a copy keeps it first, then who owned the unit until now.
    """
    every = [(kind, number) for kind, each in enumerate(kinds) if each.copied for number in range(each.units)]
    if not count or not every:
        return roster.empty_plan()
    case = _Case(roster, kinds, place_of)
    active = _Held(case.contents, _inverted(plan))
    demands = []
    for kind, number in every:
        (place,) = case.places(kind, active.most(kind, number))
        rooms = case.rooms[kind]
        holders = case.places(kind, (*case.copied.most(kind, number), *case.owned.most(kind, number)))
        demands.append(Demand(min(count, len(rooms) - 1), place, rooms, holders))
    copies = [
        (unit, place)
        for unit, places in zip(every, spread_copies(demands, case.sizes), strict=True)
        for place in places
    ]
    units, places = [unit for unit, _ in copies], [place for _, place in copies]
    members = case.among_members(units, places, case.copied, case.owned)
    return _as_plan(roster, [kind.copied for kind in kinds], units, members)


class _Held:
    """Who has how much of each unit; ``contents`` is what units of a kind are made of, topic -> partitions."""

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

    def most(self, kind: int, number: int) -> tuple[int, ...]:
        """The members that have most partitions of a unit: nearly always one, who has all of it."""
        counts = self._counts[kind].get(number)
        if not counts:
            return ()
        if len(counts) == 1:
            return tuple(counts)
        most = max(counts.values())
        return tuple(sorted(member for member, count in counts.items() if count == most))


class _Case:
    """A roster's units and places.

    ``contents``: by kind, what its units are made of, topic -> partitions; ``rooms``: by kind, place -> subscribers
    there; ``sizes``: by place, all of them.
    """

    def __init__(self, roster: Roster, kinds: Sequence[UnitKind], place_of: Sequence[int]) -> None:
        self._kinds = kinds
        self._place_of = place_of
        busy = set[int]().union(*(kind.members for kind in kinds))
        at = Counter(place for member, place in enumerate(place_of) if member in busy)
        # A place without subscribers takes nothing, whatever its size.
        self.sizes = [at[place] or 1 for place in range(max(place_of, default=-1) + 1)]
        self.rooms: list[dict[int, int]] = []
        for kind in kinds:
            rooms: dict[int, int] = {}
            for member in kind.members:
                rooms[place_of[member]] = rooms.get(place_of[member], 0) + 1
            self.rooms.append(rooms)
        counts = roster.partitions
        self.contents = [{roster.topics[topic]: counts[topic] for topic in kind.topics} for kind in kinds]
        owned = {name: topic.owned for name, topic in zip(roster.topics, roster.ownership, strict=True)}
        self.owned = _Held(self.contents, owned)
        self.copied = _Held([kind.copied for kind in kinds], _inverted(roster.standbys))

    def places(self, kind: int, members: Iterable[int]) -> tuple[int, ...]:
        """The places of ``members`` that may take units of ``kind``, each once."""
        rooms = self.rooms[kind]
        return tuple(dict.fromkeys(place for member in members if (place := self._place_of[member]) in rooms))

    def among_members(
        self, units: Sequence[_UnitName], places: Sequence[int], first: _Held, second: _Held
    ) -> list[int]:
        """Each unit's member within its place, preferably one that has it by ``first``, or else by ``second``."""
        members: list[list[int]] = [[] for _ in self.sizes]
        for member, place in enumerate(self._place_of):
            members[place].append(member)
        at: dict[int, list[int]] = {}
        for index, place in enumerate(places):
            at.setdefault(place, []).append(index)
        result = [-1] * len(units)
        for place, indices in at.items():
            here = members[place]
            chosen = [0] * len(indices)
            if len(here) > 1:
                chosen = self._among(here, [units[index] for index in indices], first, second)
            for index, seat in zip(indices, chosen, strict=True):
                result[index] = here[seat]
        return result

    def _among(self, members: Sequence[int], units: Sequence[_UnitName], first: _Held, second: _Held) -> list[int]:
        """The same for the units of one place; answers with positions in ``members``."""
        kinds = {kind: turn for turn, kind in enumerate(dict.fromkeys(kind for kind, _ in units))}
        entitled = [set(self._kinds[kind].members) for kind in kinds]
        rooms = [{seat: 1 for seat, member in enumerate(members) if member in some} for some in entitled]

        def seats(kind: int, holders: Iterable[int]) -> tuple[int, ...]:
            # Whoever holds it but sits elsewhere is out of the question here.
            return tuple(seat for seat in rooms[kinds[kind]] if members[seat] in holders)

        return allot(
            rooms,
            [1] * len(members),
            [
                Unit(kinds[kind], seats(kind, first.most(kind, number)), seats(kind, second.most(kind, number)))
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
    """Units as partitions: ``contents`` is what units of a kind are made of, topic -> partitions."""
    plan: list[dict[str, list[int]]] = [{} for _ in roster.members]
    for (kind, number), member in zip(units, members, strict=True):
        for topic, count in contents[kind].items():
            if number < count:
                plan[member].setdefault(topic, []).append(number)
    return [{topic: tuple(sorted(numbers)) for topic, numbers in given.items()} for given in plan]
