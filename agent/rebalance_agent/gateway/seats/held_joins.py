"""The newcomers of one group whose JoinGroups are held, and which seat each of them gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_agent.gateway.seats.group_facts import FreeSeat, GroupFacts, GroupPhase, SeatsRoster
from rebalance_agent.gateway.seats.rules.act_reasons import PlainReason
from rebalance_agent.gateway.seats.rules.eligibility import LastMember, Newcomer, SeatRefusal, handover_refusal
from rebalance_agent.gateway.seats.rules.join_profile import ProfileDifference
from rebalance_agent.gateway.seats.rules.wait_times import JoinWait
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable
from rebalance_agent.gateway.seats.seat_acts import (
    ClaimLock,
    DescribeSeats,
    ForwardJoin,
    HoldJoin,
    ReleaseLock,
    SeatAct,
)
from rebalance_agent.gateway.seats.seat_keeper import SeatKeeper
from rebalance_agent.gateway.seats.seated_joins import SeatedJoins

__all__ = ["HeldJoin", "HeldJoins"]


@dataclass(slots=True)
class HeldJoin:
    """A JoinGroup that is held. ``instance_id``: the seat whose lock it asked for at ``asked_at``, or was granted.

    ``last``: the last member of that seat, None if it is new. ``due_at``: when to decide again. ``refused``: seats that
    other gateways have.
    """

    newcomer: Newcomer
    wait: JoinWait
    since: float
    instance_id: str | None = None
    asked_at: float = 0.0
    granted: bool = False
    due_at: float = 0.0
    last: LastMember | None = None
    refused: set[str] = field(default_factory=set)


class HeldJoins:
    """The held JoinGroups of one group.

    ``new_names`` gives the instance ids of new seats. None of them may ever have been used: a member that once had it
    could still be in the group, and the newcomer would get that member's assignment.
    """

    def __init__(
        self,
        table: SeatTable,
        keeper: SeatKeeper,
        seated: SeatedJoins,
        facts: GroupFacts,
        new_names: Iterator[str],
    ) -> None:
        """Hold nothing."""
        self._table, self._keeper, self._seated, self._facts = table, keeper, seated, facts
        self._settings = facts.settings
        self._new_names = new_names
        self._held: dict[int, HeldJoin] = {}
        self._describe_at: float | None = None

    def __len__(self) -> int:
        """The number of held JoinGroups."""
        return len(self._held)

    def add(self, newcomer: Newcomer, wait: JoinWait, now: float) -> list[SeatAct]:
        """Hold a JoinGroup, if there is nothing to do with it at once."""
        if len(self._held) >= self._settings.held_max or self._table.full:
            return [ForwardJoin(newcomer.join, PlainReason.FULL)]
        self._held[newcomer.join] = held = HeldJoin(newcomer, wait, now)
        acts = self._advance(held, now)
        if newcomer.join in self._held:
            acts.insert(0, HoldJoin(newcomer.join, wait.deadline))
            if self._describe_at is None:
                acts += self._describe(now)
        return acts

    def stop(self) -> list[SeatAct]:
        """Hold nothing any more."""
        return [act for held in tuple(self._held.values()) for act in self._forward(held, PlainReason.OFF)]

    def withdraw(self, join: int) -> list[SeatAct]:
        """The connection of a held JoinGroup was closed."""
        held = self._held.pop(join, None)
        return [] if held is None else self._release(held)

    def lock_answered(self, instance_id: str, *, granted: bool, now: float) -> list[SeatAct]:
        """A claim was answered, or the lock was lost later (``granted`` is False)."""
        held = next((one for one in self._held.values() if one.instance_id == instance_id), None)
        if held is None:
            seat = self._table.get(instance_id)
            unused = seat is None or (not seat.locked and seat.state in (SeatState.VACANT, SeatState.GIVEN_UP))
            return [ReleaseLock(instance_id)] if granted and unused else []
        held.granted = granted
        if not granted:
            held.refused.add(instance_id)
            held.instance_id = None
        return self._advance(held, now)

    def advance(self, now: float) -> list[SeatAct]:
        """Decide about every held JoinGroup, in the order of their arrival."""
        acts = [act for held in tuple(self._held.values()) for act in self._advance(held, now)]
        if not self._held:
            self._describe_at = None
        elif self._describe_at is None or now >= self._describe_at:
            acts += self._describe(now)
        return acts

    def next_due(self) -> float | None:
        """When `advance` has something to do next without a new fact; None if nothing is held."""
        times = [held.due_at for held in self._held.values()]
        if self._describe_at is not None and times:
            times.append(self._describe_at)
        return min(times, default=None)

    def matching(self, seat: Seat) -> bool:
        """Whether a held newcomer without a seat may take this one."""
        return any(held.instance_id is None and self._fits(seat, held) for held in self._held.values())

    def _advance(self, held: HeldJoin, now: float) -> list[SeatAct]:
        acts = self._decide(held, now)
        held.due_at = self._due_at(held, now)
        return acts

    def _due_at(self, held: HeldJoin, now: float) -> float:
        """When there is something to decide, if nothing becomes known until then."""
        deadline, answer_seconds = held.wait.deadline, self._settings.answer_seconds
        if held.instance_id is not None:
            return deadline if held.granted else min(deadline, held.asked_at + answer_seconds)
        roster = self._facts.known_roster(now)
        return min(deadline, held.since + answer_seconds if roster is None else self._admitted_at(held, roster))

    def _describe(self, now: float) -> list[SeatAct]:
        self._describe_at = now + self._settings.roster_seconds
        return [DescribeSeats()]

    def _decide(self, held: HeldJoin, now: float) -> list[SeatAct]:
        """One step: choose a seat, wait for its lock, wait until the group may be joined, join."""
        acts: list[SeatAct] = []
        if held.instance_id is not None and held.last is not None and not self._still_free(held.instance_id):
            acts += self._release(held)
            held.instance_id, held.granted = None, False
        if held.instance_id is None:
            if now >= held.wait.deadline:
                return [*acts, *self._forward(held, PlainReason.HELD_LONG_ENOUGH)]
            if self._facts.roster is not None and self._facts.roster.mixed:
                return self._forward(held, SeatRefusal.GROUP_TYPE)
            acts += self._choose(held, now)
            if held.newcomer.join not in self._held:
                return acts
        confirmed = held.granted and self._facts.lock_confirmed(now)
        if confirmed and (held.last is None or self._facts.joinable or now >= held.wait.deadline):
            return [*acts, *self._join(held)]
        if held.instance_id is None:
            return acts
        late = now >= min(held.wait.deadline, held.asked_at + self._settings.answer_seconds)
        if (held.granted and not confirmed) or (not held.granted and late):
            acts += self._forward(held, PlainReason.NO_LOCK)
        return acts

    def _choose(self, held: HeldJoin, now: float) -> list[SeatAct]:
        """A vacant seat of an equal consumer; a new one once the newcomer is to be admitted."""
        equal = next((seat for seat in self._table if self._available(seat, held) and self._fits(seat, held)), None)
        if equal is not None:
            return self._ask(held, equal.instance_id, now, equal.last_member, granted=equal.locked)
        roster = self._facts.known_roster(now)
        if roster is None:
            if now >= held.since + self._settings.answer_seconds:
                return self._forward(held, PlainReason.NO_LOCK)
            return []
        if (free := next((one for one in roster.free if self._free_elsewhere(one, held)), None)) is not None:
            return self._ask(held, free.instance_id, now, free.last, granted=False)
        acts, replaced = self._replace_different(held, now)
        free_to_join = replaced or self._facts.phase in (GroupPhase.PREPARING, GroupPhase.EMPTY) or not roster.members
        if free_to_join or now >= self._admitted_at(held, roster):
            if self._table.full:
                return [*acts, *self._forward(held, PlainReason.FULL)]
            acts += self._ask(held, next(self._new_names), now, None, granted=False)
        return acts

    def _admitted_at(self, held: HeldJoin, roster: SeatsRoster) -> float:
        seated = roster.seated or len(self._table)
        return held.wait.admitted_at if seated else held.wait.admitted_unseated_at

    def _replace_different(self, held: HeldJoin, now: float) -> tuple[list[SeatAct], bool]:
        """Give up a vacant seat that nobody equal waits for: this newcomer is the successor, with another profile.

        Unless an equal consumer has a seat here: then it may be the successor of that one.
        """
        if any(self._fits(seat, held) for seat in self._table):
            return [], False
        for seat in self._table:
            if seat.state is not SeatState.VACANT or not self._available(seat, held) or self.matching(seat):
                continue
            refusal = self._refusal_of(seat.last_member, held)
            if isinstance(refusal, ProfileDifference):
                return self._keeper.give_up(seat, refusal, now), True
        return [], False

    def _ask(
        self, held: HeldJoin, instance_id: str, now: float, last: LastMember | None, *, granted: bool
    ) -> list[SeatAct]:
        held.instance_id, held.asked_at, held.last, held.granted = instance_id, now, last, granted
        return [] if granted else [ClaimLock(instance_id)]

    def _join(self, held: HeldJoin) -> list[SeatAct]:
        del self._held[held.newcomer.join]
        return [self._seated.send(held.newcomer, held.instance_id or "", held.last)]

    def _forward(self, held: HeldJoin, reason: PlainReason | SeatRefusal) -> list[SeatAct]:
        del self._held[held.newcomer.join]
        return [*self._release(held), ForwardJoin(held.newcomer.join, reason)]

    def _release(self, held: HeldJoin) -> list[SeatAct]:
        """Release the lock of a newcomer that does not take the seat, but not that of a disconnected consumer's seat.

        A claim that is not answered yet is released when it is.
        """
        if held.instance_id is None or not held.granted:
            return []
        seat = self._table.get(held.instance_id)
        return [] if seat is not None and seat.locked else [ReleaseLock(held.instance_id)]

    def _still_free(self, instance_id: str) -> bool:
        seat = self._table.get(instance_id)
        return seat is None or seat.free

    def _available(self, seat: Seat, held: HeldJoin) -> bool:
        return seat.free and seat.instance_id not in held.refused and not self._claimed(seat.instance_id)

    def _claimed(self, instance_id: str) -> bool:
        return any(one.instance_id == instance_id for one in self._held.values())

    def _free_elsewhere(self, free: FreeSeat, held: HeldJoin) -> bool:
        unknown = self._table.get(free.instance_id) is None and not self._claimed(free.instance_id)
        return unknown and free.instance_id not in held.refused and self._refusal_of(free.last, held) is None

    def _fits(self, seat: Seat, held: HeldJoin) -> bool:
        return self._refusal_of(seat.last_member, held) is None

    def _refusal_of(self, last: LastMember, held: HeldJoin) -> SeatRefusal | ProfileDifference | None:
        return handover_refusal(last, held.newcomer, watches_topics=self._settings.watches_topics)
