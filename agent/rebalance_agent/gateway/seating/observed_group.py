"""One group in mode ``observe``: every frame is forwarded unchanged, and predicted acts are counted."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from rebalance_agent.gateway.seat_rules import SeatRule
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seating.seated_group import GrantedSeat, JoinResult
from rebalance_agent.gateway.seating.shared_parts import SharedParts
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.predicted_seats import PredictedSeats, SeatTally
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.saved_seats import SavedSeat
from rebalance_agent.gateway.seats.seat import EpochBeat
from rebalance_agent.groupprotocol.wire.error_codes import (
    MEMBER_ID_REQUIRED,
    NO_ERROR,
    REBALANCE_IN_PROGRESS,
)
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["ObservedGroup"]

_ACTS = {
    "HoldJoin": Act.HOLD,
    "AnswerLeave": Act.KEEP,
    "GiveUpSeat": Act.GIVE_UP,
    "ForwardJoin": Act.PASS_JOIN,
    "ForwardLeave": Act.PASS_LEAVE,
}


PENDING_SECONDS = 60.0
"""Seconds for which a newcomer with a new member id is kept: clients rejoin with this id at once."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A newcomer that got a member id for its next JoinGroup (KIP-394); the newcomer is dropped at ``until``."""

    newcomer: Newcomer
    until: float


class ObservedGroup:
    """See `SeatedGroup`."""

    def __init__(self, rule: SeatRule, seats: GroupSeats, shared: SharedParts) -> None:
        """Predict what ``seats`` would decide."""
        self._rule, self._seats, self._shared = rule, seats, shared
        self._clock, self._counts = shared.clock, shared.report.counts
        self._predicted = PredictedSeats(seats)
        self._counted = SeatTally()
        self._pending: OrderedDict[str, _Pending] = OrderedDict()
        self._partitions: OrderedDict[str, int] = OrderedDict()
        self._stable = False

    async def admitted(self, newcomer: Newcomer, connection: ClientConnection) -> GrantedSeat | None:  # noqa: ARG002
        """See `SeatedGroup`."""
        return None

    @property
    def group_type(self) -> GroupType:
        """See `SeatedGroup`."""
        return self._seats.group_type

    def seated(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> bool:  # noqa: ARG002
        """See `SeatedGroup`; no JoinGroup is sent with an instance id."""
        return True

    def withdraw(self, newcomer: Newcomer) -> None:
        """See `SeatedGroup`."""

    def join_answered(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> int:  # noqa: ARG002
        """See `SeatedGroup`."""
        if result.error == MEMBER_ID_REQUIRED:
            until = self._clock.monotonic() + PENDING_SECONDS
            self._keep(self._pending, result.member_id, _Pending(newcomer, until))
        elif result.error == NO_ERROR:
            self._stable = False
            pending = self._pending.pop(newcomer.member_id, None)
            first = pending.newcomer if pending is not None else newcomer
            if pending is not None or not newcomer.member_id:
                self._predicted.joined(first, result.member_id, *self._times(), result.generation)
                self._count()
        return result.error

    def sync_answered(self, member_id: str, error: int, partitions: int) -> int:
        """See `SeatedGroup`."""
        if error == NO_ERROR:
            self._stable = True
            self._keep(self._partitions, member_id, partitions)
        return error

    def heartbeat_answered(self, member_id: str, error: int, beat: EpochBeat | None = None) -> int:
        """See `SeatedGroup`."""
        if beat is not None and error == NO_ERROR:
            self._predicted.beaten(member_id, beat)
        self._stable = self._stable and error != REBALANCE_IN_PROGRESS
        return error

    def answered(self, member_id: str, error: int, connection: ClientConnection, process: int) -> None:
        """See `SeatedGroup`."""

    def seat_of(self, member_id: str) -> str | None:
        """See `SeatedGroup`."""
        return "" if member_id in self._partitions else None

    def leave_refused(self, member_id: str, error: int) -> None:
        """See `SeatedGroup`; no leave is changed."""

    async def is_member(self, member_id: str, connection: ClientConnection) -> bool:  # noqa: ARG002
        """See `SeatedGroup`; always False: the coordinator is not asked, and the leave is not counted."""
        return False

    async def leaves(self, member_id: str, reason: str | None, connection: ClientConnection) -> bool:  # noqa: ARG002
        """See `SeatedGroup`."""
        partitions = self._partitions.pop(member_id, 0)
        now, epoch_seconds = self._times()
        self._predicted.left(
            member_id, reason, self._rule.forecast, now, epoch_seconds, partitions=partitions, stable=self._stable
        )
        self._count()
        return False

    def refuse_unfenced(self) -> None:
        """See `SeatedGroup`."""
        self._seats.stop(self._clock.monotonic())

    def client_ended(self, connection: ClientConnection, process: int) -> None:  # noqa: ARG002
        """See `SeatedGroup`."""
        self._seats.ended(process)

    def crashed(self, process: int) -> None:
        """See `SeatedGroup`; crashes are not predicted."""

    def connections_opened(self, process: int) -> None:
        """See `SeatedGroup`."""

    def needs(self, connection: ClientConnection, *, may_have_crashed: bool) -> bool:  # noqa: ARG002
        """See `SeatedGroup`."""
        return False

    def forget(self, connection: ClientConnection) -> None:
        """See `SeatedGroup`."""

    def due(self) -> None:
        """See `SeatedGroup`."""
        now = self._clock.monotonic()
        while self._pending and next(iter(self._pending.values())).until <= now:
            self._pending.popitem(last=False)
        if (due := self._predicted.next_due()) is not None and due <= now:
            self._predicted.due(now)
        self._count()

    def next_due(self) -> float | None:
        """See `SeatedGroup`."""
        times = [self._predicted.next_due(), next((one.until for one in self._pending.values()), None)]
        return min((time for time in times if time is not None), default=None)

    def stop(self, *, keep: bool = False) -> None:
        """See `SeatedGroup`; no effect, since nothing is held or kept."""

    def go_on(self) -> None:
        """See `SeatedGroup`."""

    held = vacant = 0
    wrong = False

    @property
    def idle(self) -> bool:
        """See `SeatedGroup`."""
        return self._seats.idle and not (self._partitions or self._pending)

    def saved(self) -> tuple[SavedSeat, ...]:
        """See `SeatedGroup`; always empty: a restarted gateway does not have the earlier predictions."""
        return ()

    def restore(self, seats: Iterable[SavedSeat], elapsed_seconds: float) -> None:
        """See `SeatedGroup`."""

    def _times(self) -> tuple[float, float]:
        return self._clock.monotonic(), self._clock.now_ms() / 1000

    def _keep(self, values: OrderedDict[str, Any], member_id: str, value: object) -> None:
        """Store a ``value`` for a member; beyond `seats_max` values, drop the oldest."""
        values.pop(member_id, None)
        values[member_id] = value
        if len(values) > self._seats.settings.seats_max:
            values.popitem(last=False)

    def _count(self) -> None:
        """Add the increase of the tally since the last call to the metrics."""
        now, before = self._predicted.tally, self._counted
        handed_over = now.rebalances_saved_min - before.rebalances_saved_min
        new = Counter(now.acts)
        new.subtract(before.acts)
        acts = {act: new[name] for name, act in _ACTS.items()}
        acts |= {Act.HANDOVER: handed_over, Act.SEAT: new["ForwardSeated"] - handed_over}
        acts[Act.ADMIT] = now.joint - before.joint
        for act, number in acts.items():
            if number > 0:
                self._counts.act(act, ActOutcome.PREDICTED, number)
        merged = now.rebalances_merged_min - before.rebalances_merged_min
        self._counts.spared(handed_over + merged, predicted=True)
        self._counts.waited(now.waited_seconds - before.waited_seconds, predicted=True)
        lost = now.partition_seconds_lost_max - before.partition_seconds_lost_max
        self._counts.kept(lost, predicted=True)
        self._counted = replace(now, acts=Counter(now.acts))
        self._shared.changed()
