"""When members were last heard of, and how they went: what records show of a member that will not speak any more.

Times are the records'. A commit is a sign of work: the coordinator takes it from nobody but a member of that moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from rebalance_agent.model.epoch_groups import CurrentAssignment, EpochMember, MemberState
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Departure, Generation, LastSign

__all__ = ["SIGNS_MAX", "ClassicSigns", "EpochSigns", "LastCommits"]

SIGNS_MAX = 4_096
"""Members of one group remembered to have gone before it came to rest: twice the largest groups. Then the oldest go."""


class LastCommits:
    """When a group committed last, by partition; only those groups are heard that are followed for their lag."""

    def __init__(self) -> None:
        """Begin with nothing heard."""
        self._at_ms: dict[Partition, int] = {}

    def hear(self, at_ms: Mapping[Partition, int]) -> None:
        """These were committed."""
        self._at_ms |= at_ms

    def last(self, partitions: Iterable[Partition], after_ms: int, until_ms: int) -> int | None:
        """The last commit of some of them within a time; None if none was heard."""
        times = (self._at_ms.get(each, after_ms) for each in partitions)
        return max((at_ms for at_ms in times if after_ms < at_ms <= until_ms), default=None)

    def keep(self, partitions: Iterable[Partition]) -> None:
        """Forget all others: nobody has them any more."""
        if self._at_ms:
            self._at_ms = {each: self._at_ms[each] for each in partitions if each in self._at_ms}


class ClassicSigns:
    """Knows when the coordinator last heard of each member of one classic group, at the earliest: they had to join."""

    def __init__(self) -> None:
        """Begin with nobody heard."""
        self._heard_ms: dict[str, int] = {}

    def gone(
        self, before: Generation, staying: Collection[str], commits: LastCommits, at_ms: int
    ) -> dict[str, LastSign]:
        """The last signs of the members of ``before`` that are not ``staying`` at ``at_ms``, by their ids."""
        return {
            member.member_id: LastSign(
                self._heard_ms.get(member.member_id), commits.last(pairs(member.assigned), before.timestamp_ms, at_ms)
            )
            for member in before.members
            if member.member_id not in staying
        }

    def join(self, generation: Generation) -> None:
        """All its members joined.

        What eager members have begins anew when all have joined; of the others some may have joined, and died, long
        before.
        """
        heard_ms = generation.start.earliest_ms if generation.start else None
        if generation.protocol is RebalanceProtocol.EAGER:
            heard_ms = min(generation.value.current_state_timestamp_ms, generation.timestamp_ms)
        ids = (member.member_id for member in generation.members)
        self._heard_ms = {} if heard_ms is None or heard_ms < 0 else dict.fromkeys(ids, heard_ms)

    def come_back(self, generation: Generation) -> None:
        """Nobody joined but static members that came back under new ids."""
        ids = (member.member_id for member in generation.members)
        self._heard_ms = {name: self._heard_ms.get(name, generation.timestamp_ms) for name in ids}


class EpochSigns:
    """Follows the current assignments of one group's members: each is written when its member is heard."""

    def __init__(self) -> None:
        """Begin with nobody heard."""
        self._heard_ms: dict[str, int] = {}
        self._signs: dict[str, LastSign] = {}
        self._departures: dict[str, Departure] = {}

    def heard_ms(self, member_id: str) -> int | None:
        """When the member came to what it has."""
        return self._heard_ms.get(member_id)

    def see(self, member_id: str, current: CurrentAssignment, at_ms: int) -> None:
        """A member wrote what it has."""
        if current.epoch < 0:
            return
        self._heard_ms[member_id] = at_ms
        self._signs.pop(member_id, None)
        self._departures.pop(member_id, None)

    def forget(self, member_id: str) -> None:
        """A member is gone, whenever and however that was."""
        self._heard_ms.pop(member_id, None)

    def go(self, member: EpochMember | None, member_id: str, old: CurrentAssignment, at_ms: int) -> None:
        """A member with ``old`` is gone; ``member`` is how it introduced itself.

        Leaving and being expelled are written alike, with two exceptions: a static member says goodbye with an epoch
        below 0, and who did not give up in time what it was asked for was expelled at that time.
        """
        heard_ms = self._heard_ms.pop(member_id, None)
        patience_ms = member.rebalance_timeout_ms if member else -1
        if old.epoch < 0:
            self._departures[member_id] = Departure.LEFT
        elif old.state is MemberState.UNREVOKED and heard_ms is not None and 0 <= patience_ms <= at_ms - heard_ms:
            self._departures[member_id] = Departure.FAILED
        if member and member.classic and old.epoch == old.previous_epoch and old.state is MemberState.STABLE:
            heard_ms = None  # perhaps written for it, when its group became one of this type
        self._signs.setdefault(member_id, LastSign(heard_ms))
        if len(self._signs) > SIGNS_MAX:
            oldest = next(iter(self._signs))
            del self._signs[oldest]
            self._departures.pop(oldest, None)

    def commit(self, member_id: str, at_ms: int | None) -> None:
        """A member that is gone committed then for the last time."""
        if at_ms is not None and (sign := self._signs.get(member_id)):
            self._signs[member_id] = replace(sign, committed_ms=at_ms)

    def take(self) -> tuple[dict[str, LastSign], dict[str, Departure]]:
        """The last signs of members that went since the last call, and how they went."""
        signs, departures = self._signs, self._departures
        self._signs, self._departures = {}, {}
        return signs, departures
