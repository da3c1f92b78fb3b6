"""The handovers of partitions in one rebalance of an epoch group, whose coordinator records each step."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberState
from rebalance_agent.model.partitions import beyond, pairs
from rebalance_agent.tracking.completed_generation import PartitionHandover

__all__ = ["Handovers"]

EARLIER_MAX = 8
"""Maximum number of earlier handovers kept per partition and rebalance, the longest ones: epochs may follow each other
endlessly."""

_NO_ASSIGNMENT = CurrentAssignment(-1, -1, MemberState.STABLE, {})


class Handovers:
    """The handovers that the current assignments of a group's members show. Times are the records' timestamps."""

    def __init__(self) -> None:
        """Start without handovers."""
        self._handovers: dict[tuple[str, int], PartitionHandover] = {}
        self._earlier: dict[tuple[str, int], list[PartitionHandover]] = {}
        self._asked_ms: dict[str, int] = {}
        self._took_ms: dict[str, int] = {}

    def update(
        self,
        member_id: str,
        old: CurrentAssignment | None,
        new: CurrentAssignment | None,
        at_ms: int,
        *,
        revocation_recorded: bool = True,
        held: Collection[tuple[str, int]] = (),
        expelled: bool = False,
        active_ms: int | None = None,
        consumed_ms: Callable[[tuple[str, int]], int | None] = lambda _partition: None,
    ) -> None:
        """Process a member's new assignment: None if the member is gone, with a negative epoch if it left temporarily.

        ``revocation_recorded``: the coordinator records what the member is asked to revoke. ``held``: the partitions
        that any member owns now. ``expelled``: the member is gone because it did not revoke in time. ``active_ms``: the
        time until which a departing member certainly worked. ``consumed_ms``: returns the time of a partition's first
        commit since its owner got it.
        """
        before, after = old or _NO_ASSIGNMENT, new or _NO_ASSIGNMENT
        had, has, revoking = before.held, after.held, pairs(before.revoking)
        departed = new is None or new.epoch < 0
        for partition in pairs(beyond(after.revoking, before.revoking)):
            handover = self._open_handover(partition, consumed_ms)
            self._handovers[partition] = replace(handover, asked_ms=at_ms, released_ms=None)
        for partition in pairs(beyond(had, has)):
            left_unowned = partition not in held
            if left_unowned:
                handover = self._open_handover(partition, consumed_ms)
            else:
                handover = self._handovers.get(partition, PartitionHandover())
            if handover.left_unowned and handover.given_ms is not None:
                continue  # another member owns it by now; the time without an owner is kept
            asked_ms = handover.asked_ms if partition in revoking else at_ms
            # The stop is unknown if the member left or was removed, or if the coordinator does not record the request.
            asked_ms = None if departed or not revocation_recorded else asked_ms
            self._handovers[partition] = replace(
                handover,
                asked_ms=asked_ms,
                released_ms=at_ms,
                left_unowned=left_unowned,
                departed=departed,
                expelled=expelled,
                active_ms=active_ms if departed else None,
            )
        for partition in revoking & pairs(after.assigned) if revoking else ():
            # The member had revoked the partition before it got it again; one record shows both steps.
            handover = self._open_handover(partition, consumed_ms)
            self._handovers[partition] = replace(handover, released_ms=at_ms, given_ms=at_ms, left_unowned=True)
        for partition in pairs(beyond(after.assigned, had)):
            handover = self._handovers.get(partition, PartitionHandover())
            if handover.given_ms is None:  # in a share group other members may also get it
                self._handovers[partition] = replace(handover, given_ms=at_ms)
        self._time_revocation(member_id, after, at_ms)

    def take(
        self, waiting: Collection[tuple[str, int]] = ()
    ) -> tuple[dict[tuple[str, int], PartitionHandover], dict[str, int]]:
        """Return the handovers since the last call, and the time that each member took to revoke (ms, by member id).

        The handovers of partitions that are still ``waiting`` for an owner are kept, and the call after their end
        returns them again.
        """
        handovers, earlier, took_ms = self._handovers, self._earlier, self._took_ms
        self._handovers = {
            partition: replace(handovers[partition], given_ms=None) for partition in waiting if partition in handovers
        }
        self._earlier, self._took_ms = {}, {}
        return handovers | {
            partition: replace(handovers[partition], earlier=tuple(handed_over))
            for partition, handed_over in earlier.items()
        }, took_ms

    def _open_handover(
        self, partition: tuple[str, int], consumed_ms: Callable[[tuple[str, int]], int | None]
    ) -> PartitionHandover:
        """Return the partition's open handover; if it is complete, keep it as an earlier one and return a new one."""
        handover = self._handovers.get(partition, PartitionHandover())
        if handover.given_ms is None:
            return handover
        if handover.released_ms is None or handover.left_unowned:  # the first owner, or one after a time without owner
            handovers = self._earlier.setdefault(partition, [])
            handovers.append(replace(handover, consumed_ms=consumed_ms(partition)))
            if len(handovers) > EARLIER_MAX:
                handovers.remove(min(handovers, key=_length_ms))
        return PartitionHandover()

    def _time_revocation(self, member_id: str, after: CurrentAssignment, at_ms: int) -> None:
        if after.state is MemberState.UNREVOKED:
            self._asked_ms.setdefault(member_id, at_ms)
        elif (asked_ms := self._asked_ms.pop(member_id, None)) is not None:
            took_ms = max(0, at_ms - asked_ms)
            self._took_ms[member_id] = max(took_ms, self._took_ms.get(member_id, 0))


def _length_ms(handover: PartitionHandover) -> int:
    return (handover.given_ms or 0) - (handover.released_ms or 0)
