"""The quality of a generation's assignment, as its view shows it: skew, imbalance, idle members, targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.model.group import Member
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.rebalance.quality import judge_generation

__all__ = ["MeasuredQuality", "are_consumers", "measure_quality"]


class MeasuredQuality(NamedTuple):
    """The fields of a `GroupView` that depend on the whole assignment.

    ``targets``: member id -> number of partitions that the assignor aims to give it. ``version``: the version of the
    view for which the quality was measured.
    """

    version: int
    targets: Mapping[str, int]
    idle_members: int | None = None
    skew_ratio: float | None = None
    imbalance: int | None = None
    topic_spread: tuple[tuple[str, float], ...] = ()
    host_spread: HostSpread | None = None


def measure_quality(generation: Generation, hosts: Mapping[str, str], version: int) -> MeasuredQuality:
    """Measure the assignment of ``generation``; ``hosts``: member id -> its host."""
    consumers = are_consumers(generation)
    judged = judge_generation(generation, generation, hosts) if generation.members and consumers else None
    targets = judged.targets if judged else {}
    idle = None
    if consumers and generation.standby_hosts is not None:
        idle = sum(_idle(member, targets.get(member.member_id), generation) for member in generation.members)
    if judged is None:
        return MeasuredQuality(version, targets, idle)
    quality = judged.quality
    spread = tuple(sorted(quality.topic_spread.items()))
    return MeasuredQuality(version, targets, idle, quality.skew_ratio, quality.imbalance, spread, judged.host_spread)


def are_consumers(generation: Generation) -> bool:
    """Whether the members are consumers; other clients, such as Kafka Connect, also use groups."""
    return generation.value.protocol_type in ("", "consumer")


def _idle(member: Member, target: int | None, generation: Generation) -> bool:
    """Whether the member has no partitions, although its subscription and its assignor's target allow some."""
    if count_partitions(member.assigned) or target == 0 or member.member_id in (generation.standby_hosts or ()):
        return False
    return member.subscription is None or any(topic in generation.topics for topic in member.subscription.topics)
