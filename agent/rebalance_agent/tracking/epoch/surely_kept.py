"""Finds the partitions that members kept while records were missing, from their assignment epochs (KIP-1251).

Brokers record the epoch in which the member got each assigned partition: in consumer groups since Kafka 4.3, and for
each active task in streams groups since 4.2. A partition that was taken from a member and given back has a newer epoch,
even if compaction removed the records in between. Pure.
"""

from __future__ import annotations

from collections.abc import Collection

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords
from rebalance_agent.tracking.epoch.recorded_group import RecordedGroup

__all__ = ["surely_kept"]


def surely_kept(
    before: Generation, records: EpochGroupRecords, recorded: RecordedGroup, described: Collection[str]
) -> frozenset[Partition]:
    """Return the partitions, by topic name, that members of ``before`` have owned without interruption since then.

    ``records``, ``recorded``: the group's current records and what they show. ``described``: the members with a member
    record since then. They are excluded: the group may have been deleted and recreated, so that its epochs began again
    at 1, or the member may have unsubscribed from a topic and subscribed to it again before the coordinator assigned.
    The topics of a member that subscribes to a pattern may change and change back without a record, so such members are
    excluded, too. Members of the classic protocol are also excluded, since they revoke partitions that they then get
    back.
    """
    kept: set[Partition] = set()
    for old in before.members:
        name = old.member_id
        member, current = records.members.get(name), records.current(name)
        if member is None or current is None or name in described or member.classic or member.pattern is not None:
            continue
        old_ones = {
            key: tuple(
                number
                for number, assigned_in in zip(current.assigned[key], epochs, strict=True)
                if assigned_in <= before.number
            )
            for key, epochs in current.assigned_in.items()
        }
        kept |= recorded.named(old_ones) & pairs(old.assigned)
    return frozenset(kept)
