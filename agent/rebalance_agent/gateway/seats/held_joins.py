"""Holds the JoinGroups of one group's newcomers, and decides which seat each of them gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_agent.gateway.seats.free_seats import FreeSeats
from rebalance_agent.gateway.seats.group_facts import GroupFacts, GroupPhase, SeatsRoster, WaitingElsewhere
from rebalance_agent.gateway.seats.impatient_clients import ImpatientClients
from rebalance_agent.gateway.seats.rules.act_reasons import PlainReason
from rebalance_agent.gateway.seats.rules.eligibility import LastMember, Newcomer, SeatRefusal, handover_refusal
from rebalance_agent.gateway.seats.rules.join_profile import ProfileDifference
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.rules.wait_times import Admission, JoinWait
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
    """A held JoinGroup. ``instance_id``: the seat whose lock was requested at ``asked_at`` or is granted.

    ``last``: the last member of that seat; None for a new seat. ``joint``: set if the newcomer joins with a new seat at
    a multiple of the admission period. ``due_at``: when to decide again. ``refused``: seats whose locks were refused.
    """

    newcomer: Newcomer
    wait: JoinWait
    since: float
    instance_id: str | None = None
    asked_at: float = 0.0
    granted: bool = False
    due_at: float = 0.0
    last: LastMember | None = None
    joint: Admission | None = None
    refused: set[str] = field(default_factory=set)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the newcomer's profile. A newcomer without a profile gets no seat, and is not held."""
        return "" if self.newcomer.profile is None else self.newcomer.profile.fingerprint


_NOTHING_FREE = FreeSeats(SeatTable(SeatSettings()), None, ())


class HeldJoins:
    """The held JoinGroups of one group.

    ``new_names`` yields the instance ids of new seats. An id must never have been used: a former member with this id
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
        """Start without held JoinGroups."""
        self._table, self._keeper, self._seated, self._facts = table, keeper, seated, facts
        self._settings = facts.settings
        self._new_names = new_names
        self._held: dict[int, HeldJoin] = {}
        self._claims: dict[str, HeldJoin] = {}
        self._describe_at: float | None = None
        self._impatient = ImpatientClients(self._settings.held_max)

    def __len__(self) -> int:
        """The number of held JoinGroups."""
        return len(self._held)

    def add(self, newcomer: Newcomer, wait: JoinWait, now: float) -> list[SeatAct]:
        """Hold a JoinGroup, unless it can be decided at once."""
        if len(self._held) >= self._settings.held_max or self._table.full:
            return [ForwardJoin(newcomer.join, PlainReason.FULL)]
        if self._impatient.knows(newcomer.client_id, now):
            return [ForwardJoin(newcomer.join, PlainReason.IMPATIENT)]
        self._held[newcomer.join] = held = HeldJoin(newcomer, wait, now)
        acts = self._advance(held, now, self._look(now))
        if newcomer.join in self._held:
            acts.insert(0, HoldJoin(newcomer.join, wait.deadline))
            if self._describe_at is None:
                acts += self._describe(now)
        return acts

    def stop(self) -> list[SeatAct]:
        """Forward all held JoinGroups."""
        return [act for held in tuple(self._held.values()) for act in self._forward(held, PlainReason.OFF)]

    def undecided(self, join: int) -> bool:
        """Whether this JoinGroup is held and has claimed no seat yet."""
        held = self._held.get(join)
        return held is not None and held.instance_id is None

    def withdraw(self, join: int, now: float) -> list[SeatAct]:
        """Drop a held JoinGroup whose connection was closed."""
        held = self._held.pop(join, None)
        if not self._held:
            self._describe_at = None
        if held is None:
            return []
        self._impatient.add(held.newcomer.client_id, now)
        return self._unclaim(held)

    def lock_answered(self, instance_id: str, *, granted: bool, now: float) -> list[SeatAct]:
        """Process the answer to a claim, or the later loss of the lock (``granted`` is False)."""
        held = self._claims.get(instance_id)
        if held is None:
            seat = self._table.get(instance_id)
            unused = seat is None or (not seat.locked and seat.state in (SeatState.VACANT, SeatState.GIVEN_UP))
            return [ReleaseLock(instance_id)] if granted and unused else []
        held.granted = granted
        if not granted:
            held.refused.add(instance_id)
            self._unclaim(held)
        return self._advance(held, now, self._look(now))

    def advance(self, now: float) -> list[SeatAct]:
        """Decide about every held JoinGroup, in the order of arrival."""
        free = self._look(now)
        acts = [act for held in tuple(self._held.values()) for act in self._advance(held, now, free)]
        if not self._held:
            self._describe_at = None
        elif self._describe_at is None or now >= self._describe_at:
            acts += self._describe(now)
        return acts

    def next_due(self) -> float | None:
        """Return when to call `advance` next if no new fact arrives; None if no JoinGroup is held."""
        times = [held.due_at for held in self._held.values()]
        if self._describe_at is not None and times:
            times.append(self._describe_at)
        return min(times, default=None)

    def matching(self, seat: Seat) -> bool:
        """Whether a held newcomer without a claimed seat may take this seat."""
        return any(held.instance_id is None and self._fits(seat, held) for held in self._held.values())

    def wants(self, seat: Seat) -> bool:
        """Whether a held newcomer may take this seat, or has claimed it."""
        return seat.instance_id in self._claims or self.matching(seat)

    def waiting(self, now: float) -> Counter[WaitingElsewhere]:
        """Return the newcomers that wait for a seat of any gateway; none unless the group is stable."""
        if self._facts.phase is not GroupPhase.STABLE or self._facts.known_roster(now) is None:
            return Counter()
        undecided = (held for held in self._held.values() if held.instance_id is None)
        return Counter(WaitingElsewhere(held.fingerprint, held.newcomer.version) for held in undecided)

    def _look(self, now: float) -> FreeSeats:
        return FreeSeats(self._table, self._facts.known_roster(now), self._claims) if self._held else _NOTHING_FREE

    def _advance(self, held: HeldJoin, now: float, free: FreeSeats) -> list[SeatAct]:
        acts = self._decide(held, now, free)
        held.due_at = self._due_at(held, now)
        return acts

    def _due_at(self, held: HeldJoin, now: float) -> float:
        """Return the time of the next decision if no new fact arrives before that time."""
        deadline, answer_seconds = held.wait.deadline, self._settings.answer_seconds
        if held.instance_id is not None:
            return deadline if held.granted else min(deadline, held.asked_at + answer_seconds)
        roster = self._facts.known_roster(now)
        return min(deadline, held.since + answer_seconds if roster is None else self._admission(held, roster).at)

    def _describe(self, now: float) -> list[SeatAct]:
        self._describe_at = now + self._settings.roster_seconds
        return [DescribeSeats()]

    def _decide(self, held: HeldJoin, now: float, free: FreeSeats) -> list[SeatAct]:
        """Do one step: choose a seat, wait for the seat's lock, wait until the group may be joined, or join."""
        acts: list[SeatAct] = []
        if held.instance_id is not None and held.last is not None and not self._still_free(held.instance_id):
            acts += self._unclaim(held)
        if held.instance_id is None:
            if now >= held.wait.deadline:
                return [*acts, *self._forward(held, PlainReason.HELD_LONG_ENOUGH)]
            if self._facts.mixed(now):
                return [*acts, *self._forward(held, SeatRefusal.GROUP_TYPE)]
            acts += self._choose(held, now, free)
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

    def _choose(self, held: HeldJoin, now: float, free: FreeSeats) -> list[SeatAct]:
        """Choose a free seat of an equal consumer, or a new seat once the newcomer is to be admitted."""
        for seat in free.own.get(held.fingerprint, {}).values():
            if seat.free and now >= seat.free_at and self._takes(seat.instance_id, seat.last_member, held):
                free.claim(held.fingerprint, seat.instance_id)
                return self._ask(held, seat.instance_id, now, seat.last_member, granted=seat.locked)
        roster = self._facts.known_roster(now)
        if roster is None:
            if now >= held.since + self._settings.answer_seconds:
                return self._forward(held, PlainReason.NO_LOCK)
            return []
        for one in free.elsewhere.get(held.fingerprint, {}).values():
            last = LastMember(held.newcomer.profile, one.leads)  # equal fingerprints mean equal profiles
            if self._takes(one.instance_id, last, held):
                free.claim(held.fingerprint, one.instance_id)
                return self._ask(held, one.instance_id, now, last, granted=False)
        acts, replaced = self._replace_different(held, now, free)
        free_to_join = replaced or self._facts.phase in (GroupPhase.PREPARING, GroupPhase.EMPTY) or not roster.members
        admission = self._admission(held, roster)
        if free_to_join or now >= admission.at:
            if self._table.full:
                return [*acts, *self._forward(held, PlainReason.FULL)]
            held.joint = admission if admission.joint and not free_to_join else None
            acts += self._ask(held, next(self._new_names), now, None, granted=False)
        return acts

    def _admission(self, held: HeldJoin, roster: SeatsRoster) -> Admission:
        seated = roster.seated or len(self._table)
        return held.wait.admission if seated else held.wait.unseated_admission

    def _replace_different(self, held: HeldJoin, now: float, free: FreeSeats) -> tuple[list[SeatAct], bool]:
        """Give up a vacant seat if no equal newcomer waits for it: this newcomer is a successor with another profile.

        Do nothing if an equal consumer has a seat at this gateway, since the newcomer may be the successor of that
        consumer.
        """
        if held.fingerprint in free.seated:
            return [], False
        for seat in free.vacant:
            refusal = self._refusal_of(seat.last_member, held)
            unclaimed = seat.state is SeatState.VACANT and seat.instance_id not in self._claims
            if unclaimed and isinstance(refusal, ProfileDifference) and not self.matching(seat):
                return self._keeper.give_up(seat, refusal, now), True
        return [], False

    def _ask(
        self, held: HeldJoin, instance_id: str, now: float, last: LastMember | None, *, granted: bool
    ) -> list[SeatAct]:
        held.instance_id, held.asked_at, held.last, held.granted = instance_id, now, last, granted
        self._claims[instance_id] = held
        return [] if granted else [ClaimLock(instance_id)]

    def _join(self, held: HeldJoin) -> list[SeatAct]:
        del self._held[held.newcomer.join]
        instance_id = held.instance_id or ""
        del self._claims[instance_id]
        return [self._seated.send(held.newcomer, instance_id, held.last, held.joint)]

    def _forward(self, held: HeldJoin, reason: PlainReason | SeatRefusal) -> list[SeatAct]:
        del self._held[held.newcomer.join]
        return [*self._unclaim(held), ForwardJoin(held.newcomer.join, reason)]

    def _unclaim(self, held: HeldJoin) -> list[SeatAct]:
        """Withdraw the newcomer's request for a seat."""
        acts = self._release(held)
        self._claims.pop(held.instance_id or "", None)
        held.instance_id, held.granted, held.joint = None, False, None
        return acts

    def _release(self, held: HeldJoin) -> list[SeatAct]:
        """Release the lock that a newcomer does not use, unless it belongs to a disconnected consumer's seat.

        An unanswered claim is released once it is answered.
        """
        if held.instance_id is None or not held.granted:
            return []
        seat = self._table.get(held.instance_id)
        return [] if seat is not None and seat.locked else [ReleaseLock(held.instance_id)]

    def _still_free(self, instance_id: str) -> bool:
        seat = self._table.get(instance_id)
        return seat is None or seat.free

    def _takes(self, instance_id: str, last: LastMember, held: HeldJoin) -> bool:
        return instance_id not in held.refused and self._refusal_of(last, held) is None

    def _fits(self, seat: Seat, held: HeldJoin) -> bool:
        return self._refusal_of(seat.last_member, held) is None

    def _refusal_of(self, last: LastMember, held: HeldJoin) -> SeatRefusal | ProfileDifference | None:
        return handover_refusal(last, held.newcomer, watches_topics=self._settings.watches_topics)
