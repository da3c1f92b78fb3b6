"""Assigns for a group leader: fetches topic metadata on the client's connection, and runs our assignor in a thread.

The whole group waits for the assignment, and so do the frames that the client sends after its SyncGroup. Therefore the
assignment is computed within a time budget, or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from kafka.protocol.metadata import MetadataRequest

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.participant import Participant
from rebalance_agent.clock import Clock
from rebalance_agent.gateway.groups.client_answers import Election
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.wire.error_codes import LEADER_NOT_AVAILABLE, NO_ERROR
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.model.subscription import TopicMetadata

__all__ = ["LeaderDecision", "budget_seconds", "decide", "topics_of"]

METADATA_VERSION = 4
"""The first Metadata version that can avoid creating the requested topics; every broker since 0.11 has it."""


@dataclass(frozen=True, slots=True)
class LeaderDecision:
    """A decision, the members' assignments as bytes, and the time (seconds) that the assignor itself took."""

    decision: AssignDecision
    answers: dict[str, bytes]
    seconds: float


def budget_seconds(configured: float, rebalance_seconds: float, session_seconds: float) -> float:
    """Return the time budget in seconds: the configured time, but within the coordinator's timeouts.

    The budget is at most a quarter of the rebalance timeout, after which the coordinator gives up. It is also at most a
    third of the session timeout, since the client's heartbeats wait behind its SyncGroup.
    """
    return max(0.0, min(configured, rebalance_seconds / 4, session_seconds / 3))


async def decide(
    strategy: Strategy, participant: Participant, election: Election, ask: Ask, executor: Executor, clock: Clock
) -> LeaderDecision:
    """Assign for the group of ``election``.

    Raises:
        ConnectionError: the connection was closed.
        RebalanceAgentError: the assignor fails.
    """
    names = sorted({topic for member in election.members for topic in member.topics})
    response = await ask(_metadata_request(names)) if names else None

    def assign() -> LeaderDecision:
        topics = topics_of(response, names, racks=any(member.rack for member in election.members)) if names else {}
        started = clock.monotonic()
        decision = participant.decide(strategy, topics, election.members)
        return LeaderDecision(decision, participant.answers(decision), clock.monotonic() - started)

    return await asyncio.get_running_loop().run_in_executor(executor, assign)


def _metadata_request(names: Collection[str]) -> MetadataRequest:
    kind = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        version=METADATA_VERSION,
        topics=[kind(version=METADATA_VERSION, name=name) for name in names],
        allow_auto_topic_creation=False,
    )


def topics_of(response: Any, names: Collection[str], *, racks: bool) -> dict[str, TopicMetadata]:  # noqa: ANN401
    """Return those topics of a Metadata response that are in ``names``; if ``racks``, with replicas' known racks."""
    asked = set(names)
    rack_of = {broker.node_id: broker.rack for broker in response.brokers or () if broker.rack} if racks else {}
    topics: dict[str, TopicMetadata] = {}
    for topic in response.topics or ():
        if topic.name in asked and topic.error_code in (NO_ERROR, LEADER_NOT_AVAILABLE) and topic.partitions:
            partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
            near = tuple(
                tuple(sorted({rack_of[node] for node in partition.replica_nodes or () if node in rack_of}))
                for partition in partitions
            )
            topics[topic.name] = TopicMetadata(len(partitions), near if rack_of else None)
    return topics
