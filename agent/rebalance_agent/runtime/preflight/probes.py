"""Which of its rights a role has: each one proven by an answer of the brokers, and nothing taken for granted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from rebalance_agent.cluster.access import Existence, Operations, TopicAccess
from rebalance_agent.runtime.preflight.rights import EVERYTHING, Right

__all__ = ["Asked", "ProbeResult", "RightsProbe", "prove"]

CREATED_PARTITIONS = 1
"""Of the topic whose creation is only checked: a number that no policy forbids."""


class Asked(Protocol):
    """What is used of `cluster.access.AccessCheck`."""

    def topics(self, names: Iterable[str]) -> Mapping[str, TopicAccess]:
        """Of each topic whether it is there, and what is allowed on it."""
        ...

    def sees_every_topic(self) -> bool:
        """Whether topics of any name may be described."""
        ...

    def sees_every_group(self) -> bool:
        """Whether groups of any name may be described."""
        ...

    def group(self, name: str) -> Operations | Existence:
        """What is allowed on a group."""
        ...

    def may_create(self, topic: str, partitions: int) -> bool:
        """Whether the topic may be created."""
        ...


class ProbeResult(Enum):
    """Of one right."""

    HELD = "held"
    MISSING = "missing"
    UNTOLD = "untold"
    """The brokers do not say, or there is nothing yet to ask about."""
    NEEDLESS = "needless"
    """As things are it is not used."""


@dataclass(frozen=True, slots=True)
class RightsProbe:
    """A verdict and, where it is not plain, why."""

    verdict: ProbeResult
    detail: str = ""


def prove(rights: Iterable[Right], asked: Asked) -> dict[Right, RightsProbe]:
    """A proof of each right, in order.

    Raises:
        ClusterError: the brokers did not answer.
    """
    rights = tuple(rights)
    topics = asked.topics(right.name for right in rights if right.resource == "Topic" and right.name != EVERYTHING)
    return {right: _proof(right, topics, asked) for right in rights}


def _proof(right: Right, topics: Mapping[str, TopicAccess], asked: Asked) -> RightsProbe:
    if right.name == EVERYTHING:
        sees = asked.sees_every_group if right.resource == "Group" else asked.sees_every_topic
        return RightsProbe(ProbeResult.HELD) if sees() else _some(right)
    if right.resource == "Group":
        operations = asked.group(right.name)
        return RightsProbe(ProbeResult.MISSING) if isinstance(operations, Existence) else _among(right, operations)
    topic = topics[right.name]
    if right.operation == "Create":
        return _creation(right, topic, asked)
    if topic.existence is Existence.ABSENT:
        return RightsProbe(ProbeResult.UNTOLD, "the topic is not there yet: ask again when it is")
    return RightsProbe(ProbeResult.MISSING) if topic.existence is Existence.HIDDEN else _among(right, topic.operations)


def _creation(right: Right, topic: TopicAccess, asked: Asked) -> RightsProbe:
    if topic.existence is Existence.THERE:
        return RightsProbe(ProbeResult.NEEDLESS, "the topic is there")
    if asked.may_create(right.name, CREATED_PARTITIONS):
        return RightsProbe(ProbeResult.HELD)
    # A topic that is hidden may be there all the same: then another right is missing, and not this one.
    return (
        RightsProbe(ProbeResult.MISSING)
        if topic.existence is Existence.ABSENT
        else RightsProbe(ProbeResult.UNTOLD, "the topic is hidden")
    )


def _some(right: Right) -> RightsProbe:
    if right.some_do:
        return RightsProbe(ProbeResult.UNTOLD, "not to all: those that this principal may describe are seen")
    return RightsProbe(ProbeResult.MISSING)


def _among(right: Right, operations: Operations) -> RightsProbe:
    if operations is None:
        return RightsProbe(ProbeResult.UNTOLD, "these brokers do not tell what is allowed")
    # KIP-430's names have underscores where kafka-acls.sh has capitals: describe_configs, DescribeConfigs.
    held = {each.replace("_", "") for each in operations}
    return RightsProbe(ProbeResult.HELD if right.operation.lower() in held else ProbeResult.MISSING)
