"""The members of a group that failed, or that keep leaving, kept longer than the rebalance that they caused.

A member that a deploy stops leaves once, so it is not one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rebalance_agent.model.group import Member
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.patterns.flapping import RETURNS, WINDOW_MS

__all__ = ["DEPARTED_MAX", "KEPT_MAX", "DepartedMember", "DepartedMembers"]

DEPARTED_MAX = 5
"""Members of one group that are named: those that failed before others, those that departed most often first."""

KEPT_MAX = 16
"""Members of one group whose departures are counted; those that departed longest ago are dropped first."""


class DepartedMember(NamedTuple):
    """A member that departed ``times`` times, at most `WINDOW_MS` apart; the last time ``how``, at ``at_ms``.

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


_NONE: Mapping[tuple[str, str], DepartedMember] = MappingProxyType({})


class DepartedMembers:
    """The departures of one group's members, one entry for each client id and host."""

    __slots__ = ("_members", "shown")

    def __init__(self) -> None:
        """Start without any: most groups have none, and share this mapping."""
        self._members: Mapping[tuple[str, str], DepartedMember] = _NONE
        self.shown: tuple[DepartedMember, ...] = ()

    def add(self, gone: Iterable[tuple[int, Member, Departure]]) -> None:
        """Add the members that departed: the time of the generation that does not have them, and how they departed.

        Of a generation that was added before, how its members departed is replaced: a report may have shown it since.
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
    """Return the member after a departure; only what it did ``before`` counts if the departure is an older one."""
    if before is None or departed.at_ms > before.at_ms + WINDOW_MS:
        return departed
    if departed.at_ms > before.at_ms:
        return departed._replace(times=before.times + 1)
    return before._replace(how=departed.how) if departed.at_ms == before.at_ms else before
