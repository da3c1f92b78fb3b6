"""The partitions that the tasks of streams groups read. Pure.

A task is a subtopology and a number: it reads the partition of this number of each of the subtopology's source and
repartition topics that has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["TOPICS_MAX", "StreamsTopologies", "sources_of"]

TOPICS_MAX = 10_000
"""Maximum number of topics in all topologies, and maximum topics with a known partition count; beyond it, the oldest
are forgotten. A pod runs one application, with up to some hundred topics."""

NAME_MAX = 249
"""Longest name of a topic in Kafka, in characters; an application's subtopologies have shorter ids."""

_Tasks = Mapping[str, Sequence[int]]
"""Subtopology -> the numbers of its tasks."""


class StreamsTopologies:
    """The topology of each streams group behind a gateway, and the partition counts of the topics."""

    def __init__(self) -> None:
        """Start without groups."""
        self._sources: dict[str, Mapping[str, tuple[str, ...]]] = {}
        self._counts: dict[str, int] = {}

    def put(self, group: str, sources: Mapping[str, tuple[str, ...]]) -> None:
        """Store the topology of a group: the topics of each subtopology (see `sources_of`)."""
        self._sources.pop(group, None)
        self._sources[group] = sources
        while sum(len(each) for of_group in self._sources.values() for each in of_group.values()) > TOPICS_MAX:
            del self._sources[next(iter(self._sources))]

    def count(self, counts: Mapping[str, int]) -> None:
        """Store partition counts of topics; 0 if a topic does not exist or may not be described."""
        for topic, number in counts.items():
            self._counts.pop(topic, None)
            self._counts[topic] = number
        while len(self._counts) > TOPICS_MAX:
            del self._counts[next(iter(self._counts))]

    def uncounted(self, topics: Iterable[str]) -> list[str]:
        """Return those of these topics whose partitions were never counted, sorted."""
        return sorted(set(topics) - self._counts.keys())

    def unclear(self, group: str, tasks: _Tasks) -> list[str]:
        """Return the topics whose partitions must be counted, or counted again, before `partitions` is right."""
        found: set[str] = set()
        for subtopology, numbers in tasks.items():
            topics = self._sources.get(group, {}).get(subtopology, ())
            most = max((self._counts.get(topic, 0) for topic in topics), default=0)
            more = 0 < most <= max(numbers, default=-1)  # topics got new partitions
            found.update(topics if more else self.uncounted(topics))
        return sorted(found)

    def knows(self, group: str, tasks: _Tasks) -> bool:
        """Whether the topics of all these tasks are known, with their present partition counts."""
        return tasks.keys() <= self._sources.get(group, {}).keys() and not self.unclear(group, tasks)

    def partitions(self, group: str, tasks: _Tasks) -> TopicPartitions:
        """Return the partitions that these tasks read, for the tasks whose topics are known.

        A topic without a partition count has a partition for each task: the coordinator creates it like this.
        """
        found: dict[str, set[int]] = {}
        for subtopology, numbers in tasks.items():
            for topic in self._sources.get(group, {}).get(subtopology, ()):
                count = self._counts.get(topic, 0)
                found.setdefault(topic, set()).update(number for number in numbers if not count or number < count)
        return {topic: tuple(sorted(found[topic])) for topic in sorted(found) if found[topic]}


def sources_of(topology: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]] | None:
    """Return subtopology -> the topics that its tasks read, from the topology in a StreamsGroupHeartbeat.

    It is None if the topics are not known, because a regular expression selects them, or if names are too long for
    Kafka.
    """
    sources: dict[str, tuple[str, ...]] = {}
    for subtopology in topology["subtopologies"]:
        internal = (topic["name"] for topic in subtopology["repartition_source_topics"])
        topics = tuple(dict.fromkeys([*subtopology["source_topics"], *internal]))
        names = (subtopology["subtopology_id"], *topics)
        if subtopology["source_topic_regex"] or any(len(name) > NAME_MAX for name in names):
            return None
        sources[subtopology["subtopology_id"]] = topics
    return sources
