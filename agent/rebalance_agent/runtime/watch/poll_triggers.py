"""Starts polls before their time, if an observation shows that they would find something new."""

from __future__ import annotations

from rebalance_agent.clock import Clock
from rebalance_agent.model.epoch_groups import EpochMember, MemberTarget
from rebalance_agent.model.group import GroupSnapshot, GroupType
from rebalance_agent.polls.last_reads import ReadTimesPoll
from rebalance_agent.polls.topic_metadata import TopicsPoll
from rebalance_agent.runtime.scheduling.schedule import Schedule
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord, Observation, PartitionsOwned

__all__ = ["PollTriggers"]

TOPICS_AGAIN_S = 1.0
"""Shortest time, in seconds, between polls for topics that a subscription names and the cluster does not have."""

READS_AGAIN_S = 0.25
"""Shortest time, in seconds, between polls for departed members' last reads: many may depart at once."""


class PollTriggers:
    """An `ObservationListener` that asks for the polls ``list_all``, ``topics`` and ``read_times``."""

    def __init__(self, schedule: Schedule, topics: TopicsPoll, reads: ReadTimesPoll, clock: Clock) -> None:
        """``topics`` has the topics that are still unknown, and ``reads`` the queries that are still to be sent."""
        self._schedule, self._topics, self._reads, self._clock = schedule, topics, reads, clock
        self._topics_asked = self._reads_asked = float("-inf")

    def on_observation(self, observation: Observation) -> None:
        """List all groups after a change of owned partitions; list topics if the observation names an unknown topic."""
        if isinstance(observation, PartitionsOwned):
            self._schedule.soon("list_all")  # newly owned partitions may have groups whose records are all deleted
        now = self._clock.monotonic()
        if self._reads.questions and now - self._reads_asked >= READS_AGAIN_S:
            self._reads_asked = now
            self._schedule.soon("read_times")
        if now - self._topics_asked < TOPICS_AGAIN_S:
            return
        topics, ids = _topics_named(observation)
        if self._topics.unknown(topics, ids):
            self._topics_asked = now
            self._schedule.soon("topics")


def _topics_named(observation: Observation) -> tuple[frozenset[str], frozenset[str]]:
    """Return the topics that a record refers to: first the names, then the topic ids."""
    match observation:
        case GroupRecord(value=GroupSnapshot(members=members)):
            subscriptions = (member.subscription for member in members if member.subscription)
            return frozenset(topic for subscription in subscriptions for topic in subscription.topics), frozenset()
        case EpochRecord(value=EpochMember(topics=topics)):
            return frozenset(topics), frozenset()
        case EpochRecord(group_type=GroupType.CONSUMER | GroupType.SHARE, value=MemberTarget(assigned=assigned)):
            return frozenset(), frozenset(assigned)
        case _:
            return frozenset(), frozenset()
