"""Tests which of its required permissions a role has, from the brokers' answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from rebalance_agent.cluster.access import AccessCheck, Existence, Operations, TopicAccess
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.settings.rights import EVERYTHING, Right

__all__ = ["ProbeResult", "RightsProbe", "prove"]

CREATED_PARTITIONS = 1
"""Number of partitions in the request that only validates a topic's creation: no policy forbids this number."""


class ProbeResult(Enum):
    """The result of probing one permission."""

    HELD = "held"
    MISSING = "missing"
    UNKNOWN = "unknown"
    """The brokers do not report the permission, or the resource does not exist yet."""
    UNUSED = "unused"
    """The permission is not used now."""


@dataclass(frozen=True, slots=True)
class RightsProbe:
    """The result for one permission, with a detail if the result needs an explanation."""

    verdict: ProbeResult
    detail: str = ""


def prove(rights: Iterable[Right], access: AccessCheck) -> dict[Right, RightsProbe]:
    """Return right -> the result of its probe, in the order of ``rights``.

    Raises:
        ClusterError: the brokers did not answer.
    """
    rights = tuple(rights)
    topics = access.topics(right.name for right in rights if right.resource == "Topic" and right.name != EVERYTHING)
    return {right: _proof(right, topics, access) for right in rights}


def _proof(right: Right, topics: Mapping[str, TopicAccess], access: AccessCheck) -> RightsProbe:
    if right.name == EVERYTHING:
        if right.operation == "DescribeConfigs":
            return _settings(right, access)
        sees = access.sees_every_group if right.resource == "Group" else access.sees_every_topic
        return RightsProbe(ProbeResult.HELD) if sees() else _some(right)
    if right.resource == "Group":
        operations = access.group(right.name)
        return RightsProbe(ProbeResult.MISSING) if isinstance(operations, Existence) else _among(right, operations)
    topic = topics[right.name]
    if right.operation == "Create":
        return _creation(right, topic, access)
    if topic.existence is Existence.ABSENT:
        return RightsProbe(ProbeResult.UNKNOWN, "the topic does not exist yet: check again later")
    return RightsProbe(ProbeResult.MISSING) if topic.existence is Existence.HIDDEN else _among(right, topic.operations)


def _settings(right: Right, access: AccessCheck) -> RightsProbe:
    try:
        reads = access.reads_settings_of_every_group()
    except ClusterError as error:  # of an optional right
        return RightsProbe(ProbeResult.UNKNOWN, str(error))
    if reads is None:
        return RightsProbe(ProbeResult.UNKNOWN, "these brokers have no settings of groups")
    if not reads and right.some_do:
        return RightsProbe(ProbeResult.UNKNOWN, "this check cannot show whether some groups have the permission")
    return RightsProbe(ProbeResult.HELD if reads else ProbeResult.MISSING)


def _creation(right: Right, topic: TopicAccess, access: AccessCheck) -> RightsProbe:
    if topic.existence is Existence.THERE:
        return RightsProbe(ProbeResult.UNUSED, "the topic exists")
    if access.may_create(right.name, CREATED_PARTITIONS):
        return RightsProbe(ProbeResult.HELD)
    # A hidden topic may exist: then the permission to describe the topic is missing, not the one to create it.
    return (
        RightsProbe(ProbeResult.MISSING)
        if topic.existence is Existence.ABSENT
        else RightsProbe(ProbeResult.UNKNOWN, "the topic is hidden")
    )


def _some(right: Right) -> RightsProbe:
    if right.some_do:
        names = f"{right.resource.lower()}s"
        return RightsProbe(ProbeResult.UNKNOWN, f"only {names} that this principal may describe are visible")
    return RightsProbe(ProbeResult.MISSING)


def _among(right: Right, operations: Operations) -> RightsProbe:
    if operations is None:
        return RightsProbe(ProbeResult.UNKNOWN, "these brokers do not return authorized operations")
    # KIP-430's names have underscores, names in kafka-acls.sh have capitals: describe_configs, DescribeConfigs.
    held = {operation.replace("_", "") for operation in operations}
    return RightsProbe(ProbeResult.HELD if right.operation.lower() in held else ProbeResult.MISSING)
