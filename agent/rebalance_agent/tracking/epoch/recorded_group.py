"""Shows a group whose coordinator assigns from its records: its state, and its members as a `Generation`.

Records may contain only topic ids; here the topics have names and partition counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import UNREAD_ASSIGNMENTS, GroupSnapshot, GroupState, GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions, pairs
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.completed_generation import Generation, PartitionHandover
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords
from rebalance_agent.tracking.members.shown_members import ShownMembers

__all__ = ["RecordedGroup"]


class RecordedGroup:
    """One group, as its current records show it. The cost of a change depends on the number of members that change."""

    def __init__(self, group: str, group_type: GroupType, records: EpochGroupRecords, topics: ClusterTopics) -> None:
        """Show the ``records`` of the group, with the names and partition counts of ``topics``."""
        self._group, self._group_type, self._records, self._topics = group, group_type, records, topics
        self._members = ShownMembers()
        self._topics_version = topics.version

    @property
    def members(self) -> ShownMembers:
        """The members, according to the current records and the cluster's current topics."""
        changed = self._records.take_changed()
        if self._topics_version != self._topics.version:
            self._topics_version = self._topics.version
            changed = changed | self._records.members.keys()
        for member_id in changed:
            if (member := self._records.member(member_id, self._topics)) is not None:
                self._members.put(member)
            else:
                self._members.remove(member_id)
        return self._members

    def snapshot(self, at_ms: int) -> GroupSnapshot:
        """Return the members and their assignment as the records show them at ``at_ms``."""
        return GroupSnapshot(
            group=self._group,
            protocol_type=UNREAD_ASSIGNMENTS if self._records.unread else "consumer",
            generation=self._records.epoch.epoch if self._records.epoch else 0,
            protocol=self._records.assignor,
            leader=None,
            current_state_timestamp_ms=at_ms,
            members=self.members.members,
        )

    def state(self, epoch: int) -> GroupState:
        """Return the state of the group, whose newest epoch is ``epoch``."""
        if not self._records.members:
            return GroupState.EMPTY
        if self._group_type is GroupType.STREAMS and not self._records.ready:
            return GroupState.NOT_READY
        if self._group_type is GroupType.SHARE or self._records.reached:
            return GroupState.STABLE
        return GroupState.ASSIGNING if self._records.target_epoch < epoch else GroupState.RECONCILING

    def generation(self, at_ms: int, seen_ms: int) -> Generation:
        """Return the members and their assignment as a generation, even if the epoch has not been reached yet."""
        value, counts = self.snapshot(at_ms), self._members.assigned_counts
        return Generation(
            value,
            at_ms,
            seen_ms,
            RebalanceProtocol.COOPERATIVE,
            self._topics.sizes_with(self._members.topics | counts.keys(), counts),
            group_type=self._group_type,
            subtopologies=self._records.subtopologies,
            standby_hosts=self._records.standby_hosts,
        )

    def restarts(self, name: str, started_ms: int | None, contact_ms: int | None) -> dict[Partition, PartitionHandover]:
        """Return the handovers of all partitions of an eager member: from the request to rejoin until it rejoined."""
        current = self._records.current(name)
        if current is None or started_ms is None or contact_ms is None:
            return {}
        return dict.fromkeys(pairs(current.held), PartitionHandover(started_ms, contact_ms, contact_ms))

    def named(self, partitions: TopicPartitions) -> set[Partition]:
        """Return the partitions with topic ids replaced by topic names."""
        return pairs(self._records.by_topic_name(partitions, self._topics)) if partitions else set()

    def by_topic_name(self, handovers: Mapping[Partition, PartitionHandover]) -> dict[Partition, PartitionHandover]:
        """Return ``handovers`` with topic ids replaced by topic names."""
        named = {}
        for (key, number), handover in handovers.items():
            for topic, numbers in self._records.by_topic_name({key: (number,)}, self._topics).items():
                named.update({(topic, index): handover for index in numbers})
        return named
