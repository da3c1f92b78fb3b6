"""The members that delayed other members most, kept for longer than the rebalances in which they did so.

- `AwaitedMembers`: the members for which the others waited. A member that is removed because it is slow rejoins at
  once, which causes a rebalance with a different slowest member. So the slowest member of only the last rebalance would
  rarely be the most costly one.
- `DepartedMembers`: the members that failed or keep leaving. A member that a deploy stops leaves once, so it is not
  included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import Member
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.patterns.flapping import RETURNS, WINDOW_MS

__all__ = [
    "AWAITED_MAX",
    "DEPARTED_MAX",
    "KEPT_MAX",
    "AwaitedMember",
    "AwaitedMembers",
    "DepartedMember",
    "DepartedMembers",
]

AWAITED_MAX = 5
"""Maximum number of members kept per group: the slowest member of the last rebalance, and the members with the longest
earlier waits."""


class AwaitedMember(NamedTuple):
    """A member for which others certainly waited ``seconds`` in the last rebalance in which it was the slowest member.

    ``at_ms``: when that rebalance completed (epoch ms, the coordinator's clock).
    """

    client_id: str
    host: str
    seconds: float
    at_ms: int


_NONE_AWAITED: Mapping[str, AwaitedMember] = MappingProxyType({})


class AwaitedMembers:
    """The slowest members of one group's rebalances, at most `AWAITED_MAX`; one entry per client id and host."""

    __slots__ = ("_by_rebalance",)

    def __init__(self) -> None:
        """Start empty; most groups stay empty, and share this mapping."""
        self._by_rebalance: Mapping[str, AwaitedMember] = _NONE_AWAITED

    @property
    def shown(self) -> tuple[AwaitedMember, ...]:
        """The members; the slowest member of the last rebalance comes first."""
        return tuple(self._by_rebalance.values())

    def add(self, closing: GenerationEvent) -> None:
        """Add the slowest member of a rebalance that settled or was revised; ``closing``: its closing event.

        A revision replaces what the rebalance added before.
        """
        kept = {event_id: member for event_id, member in self._by_rebalance.items() if event_id != closing.event_id}
        if closing.slowest_client_id is not None and closing.slowest_lower_seconds is not None:
            host = (closing.slowest_host or "").removeprefix("/")
            kept[closing.event_id] = AwaitedMember(
                closing.slowest_client_id, host, closing.slowest_lower_seconds, closing.timestamp_ms
            )
        latest: dict[tuple[str, str], str] = {}
        newest_first = sorted(kept, key=lambda event_id: -kept[event_id].at_ms)
        for event_id in newest_first:
            latest.setdefault(kept[event_id][:2], event_id)
        last, *before = latest.values() if latest else [""]
        longest = sorted(before, key=lambda event_id: -kept[event_id].seconds)[: AWAITED_MAX - 1]
        chosen = {last, *longest}
        self._by_rebalance = {event_id: kept[event_id] for event_id in newest_first if event_id in chosen}


DEPARTED_MAX = 5
"""Maximum number of members named per group: first failed members, then the members that departed most often."""

KEPT_MAX = 16
"""Maximum number of members per group whose departures are counted; those that departed longest ago are dropped
first."""


class DepartedMember(NamedTuple):
    """A member that departed ``times`` times, at most `WINDOW_MS` apart, and how and when it last departed.

    ``at_ms``: epoch ms, the coordinator's clock.
    """

    client_id: str
    host: str
    how: Departure
    times: int
    at_ms: int

    @property
    def named(self) -> bool:
        """Whether it failed, or departed as often as a member that flaps."""
        return self.how.failed or self.times >= RETURNS


_NONE_DEPARTED: Mapping[tuple[str, str], DepartedMember] = MappingProxyType({})


class DepartedMembers:
    """The departures of one group's members; one entry per client id and host."""

    __slots__ = ("_members", "shown")

    def __init__(self) -> None:
        """Start empty; most groups stay empty, and share this mapping."""
        self._members: Mapping[tuple[str, str], DepartedMember] = _NONE_DEPARTED
        self.shown: tuple[DepartedMember, ...] = ()

    def add(self, gone: Iterable[tuple[int, Member, Departure]]) -> None:
        """Add departed members: the time of the first generation without them, the member, and how it departed.

        Adding a generation again replaces how its members departed, since a new report may have shown this.
        """
        latest: dict[tuple[str, str], dict[int, Departure]] = {}
        for at_ms, member, how in gone:
            departures = latest.setdefault((member.client_id, member.client_host.removeprefix("/")), {})
            departures[at_ms] = how if how.failed else departures.get(at_ms, how)
        if not latest:
            return
        members = dict(self._members)
        for name, departures in latest.items():
            for at_ms, how in departures.items():
                members[name] = _later(members.get(name), DepartedMember(*name, how, 1, at_ms))
        ranked = sorted(members.items(), key=lambda entry: (not entry[1].named, -entry[1].at_ms))
        self._members = dict(ranked[:KEPT_MAX])
        named = [member for member in self._members.values() if member.named]
        named.sort(key=lambda member: (not member.how.failed, -member.times, -member.at_ms, member[:2]))
        self.shown = tuple(named[:DEPARTED_MAX])


def _later(before: DepartedMember | None, departed: DepartedMember) -> DepartedMember:
    """Return the member after a departure; a departure older than ``before`` changes nothing."""
    if before is None or departed.at_ms > before.at_ms + WINDOW_MS:
        return departed
    if departed.at_ms > before.at_ms:
        return departed._replace(times=before.times + 1)
    return before._replace(how=departed.how) if departed.at_ms == before.at_ms else before
