"""The partitions that the tasks of streams groups read. Pure.

A task is a subtopology and a number: it reads the partition of this number of each of the subtopology's source and
repartition topics that has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rebalance_agent.groupprotocol.epoch_facts import topics_of_subtopologies
from rebalance_agent.model.events import MEMBER_PARTITIONS_MAX
from rebalance_agent.model.partitions import TopicPartitions, partitions_read

__all__ = ["COUNT_EVERY_S", "TOPICS_MAX", "Sources", "StreamsTopologies", "sources_of"]

TOPICS_MAX = 10_000
"""Maximum number of groups, subtopologies and topics in all topologies, and of topics with a known partition count;
beyond it, the oldest are dropped. A pod runs one application, with up to some hundred topics."""

COUNT_EVERY_S = 60.0
"""Seconds between counts of the partitions of a group's topics."""

NAME_MAX = 249
"""Longest name of a topic in Kafka, in characters; an application's subtopologies have shorter ids."""

_Tasks = Mapping[str, Sequence[int]]
"""Subtopology -> the numbers of its tasks."""

Sources = Mapping[str, tuple[str, ...]]
"""Subtopology -> the topics that its tasks read."""


class StreamsTopologies:
    """The topology of each streams group behind a gateway, and the partition counts of the topics."""

    def __init__(self) -> None:
        """Start without groups."""
        self._sources: dict[str, Sources] = {}
        self._size = 0
        self._counts: dict[str, int] = {}
        self._counted: dict[str, float] = {}

    def put(self, group: str, sources: Sources, now: float) -> None:
        """Store the topology of a group (see `sources_of`), whose topics were counted at ``now`` (monotonic s)."""
        self._forget(group)
        self._sources[group], self._counted[group] = sources, now
        self._size += _size(sources)
        while self._size > TOPICS_MAX:
            self._forget(next(iter(self._sources)))

    def _forget(self, group: str) -> None:
        if (before := self._sources.pop(group, None)) is not None:
            self._size -= _size(before)
            del self._counted[group]

    def count(self, counts: Mapping[str, int]) -> None:
        """Store partition counts of topics; 0 if a topic does not exist or may not be described."""
        for topic, number in counts.items():
            self._counts.pop(topic, None)
            self._counts[topic] = number
        while len(self._counts) > TOPICS_MAX:
            del self._counts[next(iter(self._counts))]

    def due(self, group: str, now: float) -> set[str]:
        """Return the group's topics if they were not counted in the last `COUNT_EVERY_S`; ``now``: monotonic s."""
        if group not in self._sources or now - self._counted[group] < COUNT_EVERY_S:
            return set()
        self._counted[group] = now
        return {topic for topics in self._sources[group].values() for topic in topics}

    def topics(self, group: str, tasks: _Tasks) -> set[str]:
        """Return the topics that these tasks read."""
        sources = self._sources.get(group, {})
        return {topic for subtopology in tasks for topic in sources.get(subtopology, ())}

    def bounded(self, group: str, tasks: _Tasks) -> bool:
        """Whether the tasks read at most as many partitions as a member can report."""
        sources = self._sources.get(group, {})
        sizes = (len(numbers) * max(1, len(sources.get(each, ()))) for each, numbers in tasks.items())
        return sum(sizes) <= MEMBER_PARTITIONS_MAX

    def knows(self, group: str, tasks: _Tasks) -> bool:
        """Whether the topics of all these tasks are known, and were counted."""
        known = tasks.keys() <= self._sources.get(group, {}).keys()
        return known and self.topics(group, tasks) <= self._counts.keys()

    def outdated(self, group: str, tasks: _Tasks) -> bool:
        """Whether the partition counts cannot be right: a topic has none, or no topic has a task's partition."""
        for subtopology, numbers in tasks.items():
            counts = [self._counts.get(topic, 0) for topic in self._sources.get(group, {}).get(subtopology, ())]
            if not all(counts) or max(numbers, default=-1) >= max(counts, default=0):
                return True
        return False

    def partitions(self, group: str, tasks: _Tasks) -> TopicPartitions:
        """Return the partitions that these tasks read, for the tasks whose topics are known.

        A topic without partitions is one that the coordinator has not created yet: it will have one for each task.
        """
        sources = self._sources.get(group, {})
        return partitions_read(
            tasks, lambda subtopology: sources.get(subtopology, ()), lambda topic: self._counts.get(topic, 0)
        )


def _size(sources: Sources) -> int:
    return 1 + len(sources) + sum(map(len, sources.values()))


def sources_of(topology: Mapping[str, Any]) -> Sources:
    """Return the topics of each subtopology, from the topology in a StreamsGroupHeartbeat.

    It is empty if the topics are not known, because a regular expression selects some of them, or if names are too long
    for Kafka.
    """
    rows = topology["subtopologies"]
    sources = topics_of_subtopologies(rows)
    names = (name for subtopology, topics in sources.items() for name in (subtopology, *topics))
    unusable = any(row["source_topic_regex"] for row in rows) or any(len(name) > NAME_MAX for name in names)
    return {} if unusable else sources
