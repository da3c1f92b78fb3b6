"""Which partitions members kept while records were missing, by the epochs of their assignment (KIP-1251). Pure.

A broker of Kafka 4.4 or later records with each assigned partition the epoch in which the member got it. A partition
that was taken from a member and given back has a newer one, even if compaction removed the records between.
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
    """Return the partitions, by topic name, that members of ``before`` have had without a break since then.

    ``records``, ``recorded``: of the group, as they are now. ``described``: the members of which a member record came
    since then. They may be of a group that was deleted and created again, whose epochs began again at 1, or may have
    dropped a topic and taken it up again before the coordinator assigned, as those with a pattern may have without a
    record of their own. Members of the classic protocol revoke what they get back.
    """
    kept: set[Partition] = set()
    for old in before.members:
        name = old.member_id
        member, current = records.members.get(name), records.current(name)
        if member is None or current is None or name in described or member.classic or member.pattern is not None:
            continue
        old_ones = {
            (key, number)
            for key, epochs in current.assigned_in.items()
            for number, assigned_in in zip(current.assigned[key], epochs, strict=True)
            if assigned_in <= before.number
        }
        kept |= recorded.named(old_ones) & pairs(old.assigned)
    return frozenset(kept)
