"""A group's fact from a record of ``__consumer_offsets`` as the tracker's observation."""

from __future__ import annotations

from rebalance_agent.groupprotocol.group_fact import ClassicGroupFact, GroupFact
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord

__all__ = ["observed_record"]


def observed_record(
    fact: GroupFact,
    timestamp_ms: int,
    seen_ms: int,
    partition: int = 0,
    offset: int = -1,
    *,
    live: bool = True,
    replayed: bool = False,
    gap_offset: int = -1,
    leader_epoch: int = -1,
) -> GroupRecord | EpochRecord:
    """The observation of ``fact``; the other parameters as in `GroupRecord`."""
    if isinstance(fact, ClassicGroupFact):
        return GroupRecord(
            fact.group,
            timestamp_ms,
            seen_ms,
            fact.value,
            live,
            partition,
            offset,
            replayed,
            gap_offset,
            leader_epoch,
        )
    return EpochRecord(
        fact.group,
        timestamp_ms,
        seen_ms,
        fact.group_type,
        fact.kind,
        fact.value,
        fact.subject,
        partition,
        live,
        offset,
        replayed,
        gap_offset,
        leader_epoch,
    )
