"""What kept seats cost and spared: partitions stand still while a seat is vacant, and a handover spares a rebalance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seating.act_report import ActCounts
from rebalance_agent.gateway.seats.seat import SeatState, SeatTable
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment
from rebalance_agent.model.partitions import count_partitions

__all__ = ["Vacancies", "partitions_of"]


@dataclass(frozen=True, slots=True)
class _Vacancy:
    partitions: int
    since: float


class Vacancies:
    """The vacant seats of one group, with the partitions of their last members."""

    def __init__(self, table: SeatTable, clock: Clock, counts: ActCounts) -> None:
        """No seat is vacant."""
        self._table, self._clock, self._counts = table, clock, counts
        self._partitions: dict[str, int] = {}
        self._vacant: dict[str, _Vacancy] = {}

    def assigned(self, member_id: str, response: Any) -> None:  # noqa: ANN401 - kafka-python is untyped
        """A member's SyncGroup was answered with its partitions."""
        seat = self._table.of_member(member_id)
        if seat is not None:
            self._partitions[seat.instance_id] = partitions_of(response)

    def settle(self) -> None:
        """Note seats that are vacant now, and count those that are not any more."""
        now = self._clock.monotonic()
        vacant = {
            seat.instance_id: seat.vacant_since
            for seat in self._table
            if seat.state in (SeatState.VACANT, SeatState.DISCONNECTED)
        }
        for instance_id, since in vacant.items():
            self._vacant.setdefault(instance_id, _Vacancy(self._partitions.get(instance_id, 0), since))
        for instance_id in [*self._vacant]:
            if instance_id not in vacant:
                self._end(instance_id, now)
        self._partitions = {name: n for name, n in self._partitions.items() if self._table.get(name) is not None}

    def taken(self, instance_id: str, *, spared: bool) -> None:
        """A newcomer took the seat; ``spared``: the group was stable, so that it did not rebalance."""
        if spared:
            self._counts.spared(1, predicted=False)
        if instance_id in self._vacant:
            self._end(instance_id, self._clock.monotonic())

    def _end(self, instance_id: str, now: float) -> None:
        vacancy = self._vacant.pop(instance_id)
        self._counts.kept(vacancy.partitions * max(0.0, now - vacancy.since), predicted=False)


def partitions_of(response: Any) -> int:  # noqa: ANN401 - kafka-python is untyped
    """The number of partitions in a SyncGroup response; 0 where they cannot be read."""
    try:
        return count_partitions(decode_assignment(bytes(response.assignment or b"")).partitions)
    except DecodeError:
        return 0
