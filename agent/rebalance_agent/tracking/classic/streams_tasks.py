"""The tasks of a classic Kafka Streams group, from the user data of its members' assignments.

The coordinator stores assignments as bytes, so the group's record contains the tasks. A task reads the same partition
of each topic of its subtopology.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.streams_user_data import STREAMS_ASSIGNOR, decode_streams_assignment
from rebalance_agent.model.group import GroupSnapshot, Member
from rebalance_agent.tracking.completed_generation import Generation, subscribed_topics

__all__ = ["ClassicTasks", "classic_tasks"]


class ClassicTasks(NamedTuple):
    """The tasks of one generation; ``subtopologies`` and ``standby_hosts`` are as in `Generation`."""

    subtopologies: Mapping[str, tuple[str, ...]]
    standby_hosts: frozenset[str] | None


def classic_tasks(value: GroupSnapshot, before: Generation | None) -> ClassicTasks:
    """Return the subtopologies of a group, and its members with standby tasks.

    If an assignment cannot be read, or a task reads partitions other than its own, there are no subtopologies and the
    members with standby tasks are unknown. Topics that have no assigned partition, because all their partitions move,
    keep the subtopology that they had ``before``.
    """
    if value.protocol != STREAMS_ASSIGNOR:
        return ClassicTasks({}, frozenset())
    subtopology_of: dict[str, str] = {}
    standby_hosts = set()
    for member in value.members:
        # Most members of a large group repeat what is already known about the topics, so skip these members quickly.
        if member.assigned and member.assigned.keys() <= subtopology_of.keys():
            continue
        read = _read(member)
        if read is None or any(subtopology_of.get(topic, found) != found for topic, found in read.found.items()):
            return ClassicTasks({}, None)
        subtopology_of |= read.found
        if read.has_standbys:
            standby_hosts.add(member.member_id)
    earlier = before.subtopologies if before else {}
    subscribed = subscribed_topics(value)
    for subtopology, topics in earlier.items():
        for topic in subscribed.intersection(topics):
            subtopology_of.setdefault(topic, subtopology)
    sources: dict[str, list[str]] = {}
    for topic in sorted(subtopology_of):
        sources.setdefault(subtopology_of[topic], []).append(topic)
    return ClassicTasks({key: tuple(topics) for key, topics in sources.items()}, frozenset(standby_hosts))


class _Read(NamedTuple):
    found: Mapping[str, str]
    has_standbys: bool


def _read(member: Member) -> _Read | None:
    """Return the subtopology of each topic of a member; None if its tasks do not belong to its partitions."""
    try:
        tasks = decode_streams_assignment((member.assignment.user_data if member.assignment else None) or b"")
    except DecodeError:
        return None
    partitions = [(topic, number) for topic, numbers in member.assigned.items() for number in numbers]
    if [number for _, number in partitions] != [task.partition for task in tasks.active]:
        return None
    pairs = {(topic, task.subtopology) for (topic, _), task in zip(partitions, tasks.active, strict=True)}
    subtopologies = dict(pairs)
    return _Read(subtopologies, bool(tasks.standbys)) if len(subtopologies) == len(pairs) else None
