"""When departed members were last active, and how they left, as far as records show it.

Times are the records'. An offset commit shows activity: the coordinator accepts it only from a current member.
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
"""Departed members kept per group until its epoch is reached: twice the largest groups. Beyond it the oldest are
dropped."""


class LastCommits:
    """The time of a group's last commit per partition; known only for groups whose lag is measured."""

    def __init__(self) -> None:
        """Start without commits."""
        self._at_ms: dict[Partition, int] = {}

    def hear(self, at_ms: Mapping[Partition, int]) -> None:
        """Add commit times (epoch ms) by partition."""
        self._at_ms |= at_ms

    def last(self, partitions: Iterable[Partition], after_ms: int, until_ms: int) -> int | None:
        """Return the last commit of any of the partitions in (``after_ms``, ``until_ms``]; None if there is none."""
        times = (self._at_ms.get(each, after_ms) for each in partitions)
        return max((at_ms for at_ms in times if after_ms < at_ms <= until_ms), default=None)

    def keep(self, partitions: Iterable[Partition]) -> None:
        """Drop all other partitions, which no member has any more."""
        if self._at_ms:
            self._at_ms = {each: self._at_ms[each] for each in partitions if each in self._at_ms}


class ClassicSigns:
    """The last known contact of each member of a classic group with its coordinator: its join. A lower bound."""

    def __init__(self) -> None:
        """Start without members."""
        self._heard_ms: dict[str, int] = {}

    def gone(
        self, before: Generation, staying: Collection[str], commits: LastCommits, at_ms: int
    ) -> dict[str, LastSign]:
        """Return, by member id, when the members of ``before`` that are not ``staying`` were last active by ``at_ms``."""
        return {
            member.member_id: LastSign(
                self._heard_ms.get(member.member_id), commits.last(pairs(member.assigned), before.timestamp_ms, at_ms)
            )
            for member in before.members
            if member.member_id not in staying
        }

    def join(self, generation: Generation) -> None:
        """Take a completed generation: all its members joined.

        Under an eager protocol the end of the join phase is a contact of all members. Under others a member may have
        joined, and failed, any time since the start of the rebalance.
        """
        heard_ms = generation.start.earliest_ms if generation.start else None
        if generation.protocol is RebalanceProtocol.EAGER:
            heard_ms = min(generation.value.current_state_timestamp_ms, generation.timestamp_ms)
        ids = (member.member_id for member in generation.members)
        self._heard_ms = {} if heard_ms is None or heard_ms < 0 else dict.fromkeys(ids, heard_ms)

    def come_back(self, generation: Generation) -> None:
        """Take a return of static members under new ids; the other members did not join."""
        ids = (member.member_id for member in generation.members)
        self._heard_ms = {name: self._heard_ms.get(name, generation.timestamp_ms) for name in ids}


class EpochSigns:
    """The last known contact of each member of an epoch group: its assignment record is written upon a heartbeat."""

    def __init__(self) -> None:
        """Start without members."""
        self._heard_ms: dict[str, int] = {}
        self._signs: dict[str, LastSign] = {}
        self._departures: dict[str, Departure] = {}

    def heard_ms(self, member_id: str) -> int | None:
        """Return when the member's current assignment was written (epoch ms); None if unknown."""
        return self._heard_ms.get(member_id)

    def see(self, member_id: str, current: CurrentAssignment, at_ms: int) -> None:
        """Take a member's current assignment."""
        if current.epoch < 0:
            return
        self._heard_ms[member_id] = at_ms
        self._signs.pop(member_id, None)
        self._departures.pop(member_id, None)

    def forget(self, member_id: str) -> None:
        """Drop the contact time of a member that is gone."""
        self._heard_ms.pop(member_id, None)

    def go(self, member: EpochMember | None, member_id: str, old: CurrentAssignment, at_ms: int) -> None:
        """Take the departure of a member with the assignment ``old``; ``member`` is its member record.

        Records do not distinguish a member that left from one that was removed, with two exceptions: a static member
        leaves with a negative epoch, and a member that did not revoke within its rebalance timeout was removed then.
        """
        heard_ms = self._heard_ms.pop(member_id, None)
        patience_ms = member.rebalance_timeout_ms if member else -1
        if old.epoch < 0:
            self._departures[member_id] = Departure.LEFT
        elif old.state is MemberState.UNREVOKED and heard_ms is not None and 0 <= patience_ms <= at_ms - heard_ms:
            self._departures[member_id] = Departure.FAILED
        if member and member.classic and old.epoch == old.previous_epoch and old.state is MemberState.STABLE:
            heard_ms = None  # the coordinator may have written it during the migration, without a heartbeat
        self._signs.setdefault(member_id, LastSign(heard_ms))
        if len(self._signs) > SIGNS_MAX:
            oldest = next(iter(self._signs))
            del self._signs[oldest]
            self._departures.pop(oldest, None)

    def commit(self, member_id: str, at_ms: int | None) -> None:
        """Set the last commit of a departed member."""
        if at_ms is not None and (sign := self._signs.get(member_id)):
            self._signs[member_id] = replace(sign, committed_ms=at_ms)

    def take(self) -> tuple[dict[str, LastSign], dict[str, Departure]]:
        """Return and reset when the members that departed since the last call were last active, and how they left."""
        signs, departures = self._signs, self._departures
        self._signs, self._departures = {}, {}
        return signs, departures
