"""Sub-topologies, read from one setting: a task's source topics, repartition topics, and changelog topics."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.assignors.units.standbys import topic_name
from rebalance_agent.model.partitions import PARTITION_MAX

__all__ = ["SUBTOPOLOGIES", "SubTopology", "required_partitions"]

_REPARTITION, _CHANGELOG = "repartition", "changelog"


@dataclass(frozen=True, slots=True)
class SubTopology:
    """Topics whose partitions with the same number belong to one task.

    A task reads ``sources``, writes ``repartition`` topics (-> number of partitions, 0 if not stated) that other tasks
    read, and keeps its state in ``changelogs`` (None: not stated; empty: the task has no state).
    """

    name: str
    sources: tuple[str, ...]
    repartition: Mapping[str, int] = field(default_factory=dict)
    changelogs: tuple[str, ...] | None = None


def required_partitions(subtopologies: Sequence[SubTopology], existing_counts: Mapping[str, int]) -> dict[str, int]:
    """Return internal topic -> the number of partitions that it must have; 0 if unknown.

    A repartition topic has the stated number, or else one partition for each task of its writer. A changelog has one
    partition for each task of its sub-topology. A sub-topology has as many tasks as its largest source has partitions.
    ``existing_counts``: the partition counts of the existing topics.
    """
    counts = dict(existing_counts)
    wanted_counts = {
        topic: stated for subtopology in subtopologies for topic, stated in subtopology.repartition.items()
    }
    counts.update(wanted_counts)
    readers: dict[str, list[SubTopology]] = defaultdict(list)
    for subtopology in subtopologies:
        for topic in subtopology.sources:
            readers[topic].append(subtopology)
    waiting = deque(subtopologies)
    while waiting:
        # Readers of a repartition topic are checked again when its count rises; the loop ends, since counts only rise.
        subtopology = waiting.popleft()
        for topic, stated in subtopology.repartition.items():
            count = stated or _tasks(subtopology, counts)
            if count != counts[topic]:
                counts[topic] = wanted_counts[topic] = count
                waiting.extend(readers[topic])
    for subtopology in subtopologies:
        wanted_counts.update(dict.fromkeys(subtopology.changelogs or (), _tasks(subtopology, counts)))
    return wanted_counts


def _tasks(subtopology: SubTopology, counts: Mapping[str, int]) -> int:
    return max((counts.get(topic, 0) for topic in subtopology.sources), default=0)


def _read(text: str) -> tuple[SubTopology, ...]:
    subtopologies = tuple(_read_one(part) for part in text.split(";")) if text.strip() else ()
    for kind, names in (
        ("sub-topology", [subtopology.name for subtopology in subtopologies]),
        ("source topic", [topic for subtopology in subtopologies for topic in subtopology.sources]),
        (
            "internal topic",
            [
                topic
                for subtopology in subtopologies
                for topic in (*subtopology.repartition, *(subtopology.changelogs or ()))
            ],
        ),
    ):
        if len(names) > len(set(names)):
            twice = next(name for name, times in Counter(names).items() if times > 1)
            raise ValueError(f"{kind} {twice} appears twice")
    return subtopologies


def _read_one(text: str) -> SubTopology:
    first, *parts = text.split("|")
    name, colon, sources = first.partition(":")
    if not colon:
        raise ValueError(f"{first.strip()[:40]!r} is not NAME:TOPIC,...")
    repartition: dict[str, int] = {}
    changelogs: tuple[str, ...] | None = None
    for part in parts:
        key, _, value = part.partition("=")
        if key.strip() == _REPARTITION and not repartition:
            repartition = dict(_counted(entry) for entry in value.split(","))
        elif key.strip() == _CHANGELOG and changelogs is None:
            changelogs = tuple(topic_name(entry) for entry in value.split(",")) if value.strip() else ()
        else:
            raise ValueError(f"{part.strip()[:40]!r} is neither {_REPARTITION}=... nor {_CHANGELOG}=..., once each")
    return SubTopology(
        topic_name(name), tuple(topic_name(entry) for entry in sources.split(",")), repartition, changelogs
    )


def _counted(text: str) -> tuple[str, int]:
    name, star, count = text.partition("*")
    digits = count.strip()
    if not star:
        return topic_name(name), 0
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(PARTITION_MAX))):
        raise ValueError(f"{text.strip()[:40]!r} is not TOPIC*PARTITIONS")
    if not 0 < int(digits) <= PARTITION_MAX:
        raise ValueError(f"{text.strip()[:40]!r} must have from 1 to {PARTITION_MAX} partitions")
    return topic_name(name), int(digits)


SUBTOPOLOGIES: Setting[tuple[SubTopology, ...]] = Setting(
    name="assignment.task.subtopologies",
    default=(),
    meaning="the sub-topologies with their topics; without it, topics of equal partition count and equal subscribers "
    "are one sub-topology",
    values="NAME:TOPIC,... separated by semicolons; each can end with |repartition=TOPIC,TOPIC*PARTITIONS,... and "
    "|changelog=TOPIC,...",
    read=_read,
    shared=True,
)
