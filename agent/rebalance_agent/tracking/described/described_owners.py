"""Finds when partitions changed owners, from successive descriptions of a group whose coordinator assigns. Pure.

A change happened after the last description without the change was requested, and before the description with the
change was answered. The times of a `PartitionHandover` are therefore bounds here: the earliest time at which the owner
can have been asked to revoke the partition, the latest time at which it had revoked the partition, and the earliest
time at which the new owner can have got it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from rebalance_agent.model.epoch_groups import DescribedEpochs
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import PartitionHandover

__all__ = ["DescribedOwners"]


class DescribedOwners:
    """The owners of a group's partitions in its last description, and the handovers since the last generation."""

    def __init__(self) -> None:
        """Start without a description."""
        self._owners: Mapping[Partition, str] = {}
        self._handovers: dict[Partition, PartitionHandover] = {}

    def update(self, epochs: DescribedEpochs, after_ms: int, until_ms: int) -> None:
        """Process a description whose changes happened between ``after_ms`` and ``until_ms`` (epoch ms)."""
        owners = {
            partition: each.member.member_id for each in epochs.members for partition in pairs(each.member.assigned)
        }
        here = {each.member.member_id for each in epochs.members if each.epoch >= 0}
        for partition in self._owners.keys() | owners.keys():
            before, now = self._owners.get(partition), owners.get(partition)
            if before == now:
                continue
            handover = self._handovers.get(partition, PartitionHandover())
            if before is not None:
                # A departed member may have stopped long before; its session timeout bounds the time of its stop.
                asked_ms = after_ms if before in here and not handover.departed else None
                handover = replace(
                    handover,
                    asked_ms=handover.asked_ms if handover.asked_ms is not None else asked_ms,
                    departed=handover.departed or (handover.asked_ms is None and asked_ms is None),
                    given_ms=None,
                )
            if now is not None:
                # The partition passed from one owner to the next, perhaps after a time without an owner: it had been
                # released by then.
                released_ms = None if handover.asked_ms is None else until_ms
                handover = replace(handover, given_ms=after_ms, released_ms=released_ms)
            self._handovers[partition] = handover
        self._owners = owners

    def take(
        self, had: Collection[Partition], started_ms: int | None, until_ms: int
    ) -> Mapping[Partition, PartitionHandover]:
        """Return the handovers of a generation that was complete by ``until_ms``, and start the next generation.

        ``had``: the partitions with an owner in the generation before. Other partitions can have been consumed only
        after ``started_ms``, when the rebalance began.
        """
        taken, self._handovers = self._handovers, {}
        return {partition: _closed(way, partition in had, started_ms, until_ms) for partition, way in taken.items()}


def _closed(handover: PartitionHandover, had_owner: bool, started_ms: int | None, until_ms: int) -> PartitionHandover:
    if not had_owner:
        return replace(handover, asked_ms=started_ms, released_ms=None if started_ms is None else until_ms)
    if handover.asked_ms is None:
        return replace(handover, released_ms=None)
    return replace(handover, released_ms=handover.released_ms or until_ms, left_unowned=True)
