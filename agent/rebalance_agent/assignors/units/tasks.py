"""``task-sticky``: groups partitions into tasks, and assigns tasks to processes near their state, by thread counts.

This follows the idea of Kafka Streams' assignor. A task has the partitions with one number in a sub-topology's source
topics. Members with the same process id are the threads of a process. A task goes to the process that ran it, or else
to a process that has a copy of its state, as far as balance allows (see ``unit_assignment``). Within that process, it
goes to the thread that ran it, if possible.
"""

from __future__ import annotations

from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Roster
from rebalance_agent.assignors.units.standbys import PROCESS_ID, state_factor
from rebalance_agent.assignors.units.subtopologies import SUBTOPOLOGIES, SubTopology, required_partitions
from rebalance_agent.assignors.units.unit_strategy import unit_strategy
from rebalance_agent.assignors.units.units import UnitKind

__all__ = ["TASK_STICKY"]


def _wanted_internal_topics(roster: Roster) -> dict[str, int]:
    """Return repartition or changelog topic -> the number of partitions that it must have; 0 if unknown."""
    counts = dict(zip(roster.topics, roster.partitions, strict=True))
    subtopologies = roster.shared_by_all(SUBTOPOLOGIES)
    return required_partitions(subtopologies, counts)


def _processes(roster: Roster) -> list[int]:
    """Return the number of each member's process, in member order."""
    numbers: dict[tuple[str, str], int] = {}
    return [
        # A process id that equals another member's member id does not mean that member's process.
        numbers.setdefault((text, "" if text else member.member_id), len(numbers))
        for member, text in zip(roster.members, roster.of(PROCESS_ID), strict=True)
    ]


def _kinds(roster: Roster) -> list[UnitKind]:
    topic_index = {name: topic for topic, name in enumerate(roster.topics)}
    left = set(topic_index.values())
    kinds = []
    for subtopology in roster.shared_by_all(SUBTOPOLOGIES):
        sources = [topic_index[name] for name in subtopology.sources if name in topic_index]
        left.difference_update(sources)
        kinds += _kinds_of(roster, subtopology, sources)
    for topics in roster.copartitions():
        rest = tuple(topic for topic in topics if topic in left)
        if rest:
            count = roster.metadata[rest[0]].partitions
            copied = dict.fromkeys((roster.topics[topic] for topic in rest), count)
            kinds.append(UnitKind(rest, roster.subscribers[rest[0]], count, copied))
    return kinds


def _kinds_of(roster: Roster, subtopology: SubTopology, sources: list[int]) -> list[UnitKind]:
    """Return one kind of task, or one for each set of subscribers if members subscribe to different sources."""
    parts: dict[int, list[int]] = {}
    for topic in sources:
        parts.setdefault(id(roster.subscribers[topic]), []).append(topic)
    kinds = []
    partitions = roster.partitions
    for index, topics in enumerate(sorted(parts.values(), key=lambda part: -max(partitions[topic] for topic in part))):
        units = max(partitions[topic] for topic in topics)
        copied = {roster.topics[topic]: partitions[topic] for topic in topics}
        if subtopology.changelogs is not None:
            # The part with all task numbers has the state. A topic that other members consume as active is not a copy.
            own = set(copied)
            names = subtopology.changelogs if index == 0 else ()
            copied = {name: units for name in names if name in own or name not in roster.topics}
        kinds.append(UnitKind(tuple(topics), roster.subscribers[topics[0]], units, copied))
    return kinds


TASK_STICKY = unit_strategy(
    "task-sticky",
    "assigns tasks (groups of partitions) to processes in proportion to their threads, preferably where the tasks ran "
    "or have their state; assigns standbys to other processes",
    _kinds,
    _processes,
    state_factor=state_factor(2.0),
    config=(PROCESS_ID, SUBTOPOLOGIES),
    internal_topics=_wanted_internal_topics,
    replay_limits=ReplayLimits(
        unrecorded="it needs settings of the leader, which events do not contain",
        refusal=f"it needs the application's sub-topologies, setting {SUBTOPOLOGIES.name}",
        setting=SUBTOPOLOGIES,
    ),
)
