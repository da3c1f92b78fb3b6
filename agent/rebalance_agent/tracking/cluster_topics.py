"""The cluster's topics: partition counts, topic ids, and when each was first seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.model.group import GroupSnapshot

__all__ = ["GONE_MAX", "ClusterTopics", "PartitionCount"]

GONE_MAX = 10_000
"""The number of deleted topics whose ids are kept: a group's records refer to them until its next assignment."""


class ClusterTopics:
    """The topics of the last `TopicsSeen`.

    Times are by the observer's clock; ``version`` increases with every change.
    """

    def __init__(self) -> None:
        """Start without any list of topics."""
        self._counts: Mapping[str, int] = {}
        self._names: Mapping[str, str] = {}
        self._created_ms: dict[str, int] = {}
        self._since_ms: int | None = None
        self._at_ms = -1
        self.version = 0

    @property
    def known(self) -> bool:
        """Whether any list of the cluster's topics has been seen."""
        return self._since_ms is not None

    def differs(self, counts: Mapping[str, int], ids: Mapping[str, str]) -> bool:
        """Whether a list of all topics differs from the last one."""
        named = {topic_id: topic for topic, topic_id in ids.items()}
        return not self.known or counts != self._counts or not named.items() <= self._names.items()

    def update(self, at_ms: int, counts: Mapping[str, int], ids: Mapping[str, str] | None = None) -> set[str]:
        """Store a list of all topics; return topics that are new, deleted, or have a different partition count or id.

        A list older than the last one is ignored. ``ids``: topic ids by name. The ids of the topics that were deleted
        last are kept, since records still refer to them.
        """
        if at_ms < self._at_ms:
            return set()
        changed = {topic for topic, count in counts.items() if self._counts.get(topic) != count}
        named = {topic_id: topic for topic, topic_id in (ids or {}).items()}
        changed |= {topic for topic_id, topic in named.items() if self._names.get(topic_id) != topic}
        self._names = {**_newest(self._names, named), **named}
        changed |= self._counts.keys() - counts.keys()
        self._created_ms = {topic: self._created_ms.get(topic, at_ms) for topic in counts}
        self._counts, self._at_ms = counts, at_ms
        self._since_ms = at_ms if self._since_ms is None else self._since_ms
        self.version += bool(changed)
        return changed

    def set_back(self, now_ms: int) -> None:
        """Handle a clock that was set back to ``now_ms``: the next list must not count as an old one."""
        self._at_ms = min(self._at_ms, now_ms)
        self._since_ms = None if self._since_ms is None else min(self._since_ms, now_ms)
        self._created_ms = {topic: min(created_ms, now_ms) for topic, created_ms in self._created_ms.items()}

    def name(self, topic_id: str) -> str:
        """Return the name of the topic with that id, or the id itself while the name is unknown."""
        return self._names.get(topic_id, topic_id)

    def has_name(self, topic_id: str) -> bool:
        """Whether the name of the topic with that id is known."""
        return topic_id in self._names

    def count(self, topic: str) -> int:
        """Return the partition count of the topic; 0 if it is unknown."""
        return self._counts.get(topic, 0)

    def created_after(self, topic: str, at_ms: int) -> bool:
        """Whether the topic is known to have been created after ``at_ms``; topics of the first list may be older."""
        if self._since_ms is None:
            return False
        created_ms = self._created_ms.get(topic)
        return created_ms is None or created_ms > max(at_ms, self._since_ms)

    def exists(self, topic: str) -> bool:
        """Whether the topic exists; True before the first list."""
        return not self.known or topic in self._counts

    def sizes(self, topics: Iterable[str]) -> dict[str, int]:
        """Return the partition count of each of the ``topics`` that exists."""
        return {topic: count for topic in sorted(topics) if (count := self.count(topic))}

    def sizes_in(self, topics: Iterable[str], value: GroupSnapshot) -> dict[str, int]:
        """Return `sizes`, but at least the partitions that the group assigns: a record may be newer than the list."""
        assigned_counts: dict[str, int] = {}
        for member in value.members:
            for topic, numbers in member.assigned.items():
                assigned_counts[topic] = max(assigned_counts.get(topic, 0), max(numbers, default=-1) + 1)
        return self.sizes_with(topics, assigned_counts)

    def sizes_with(self, topics: Iterable[str], assigned_counts: Mapping[str, int]) -> dict[str, int]:
        """Return `sizes`, but at least ``assigned_counts``: the lowest possible count of each assigned topic."""
        sizes = {topic: max(self.count(topic), assigned_counts.get(topic, 0)) for topic in sorted(topics)}
        return {topic: count for topic, count in sizes.items() if count}


class PartitionCount:
    """The partition count of a group's topics, recomputed only after these topics or the cluster's topics change."""

    def __init__(self) -> None:
        """Start without a cached count."""
        self._known: tuple[frozenset[str], int] | None = None
        self._partitions = 0

    def count(self, topics: frozenset[str], cluster_topics: ClusterTopics) -> int:
        """Return the number of partitions of all ``topics``."""
        key = (topics, cluster_topics.version)
        if self._known != key:
            self._known, self._partitions = key, sum(map(cluster_topics.count, topics))
        return self._partitions


def _newest(names: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of the `GONE_MAX` topics that were deleted last."""
    gone = [topic_id for topic_id in names if topic_id not in now]
    return {topic_id: names[topic_id] for topic_id in gone[-GONE_MAX:]}
