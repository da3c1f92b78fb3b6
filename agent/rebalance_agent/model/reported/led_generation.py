"""A generation with the data that its leader has, for observers that may not read ``__consumer_offsets``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rebalance_agent.model.reported.workload import Workload

__all__ = ["LedGenerationEvent", "LedMember"]


@dataclass(frozen=True, slots=True)
class LedMember:
    """One member: its subscription and its assignment as Kafka's consumer protocol encodes them."""

    member_id: str
    subscription: bytes
    assignment: bytes
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class LedGenerationEvent:
    """The coordinator accepted the assignment of a leader that reports, or whose frames pass a gateway.

    Times are in milliseconds, by the clock of the consumer's process or the gateway: ``timestamp_ms`` when the leader's
    SyncGroup was answered, ``joined_ms`` when its JoinGroup was. ``assignor``: the name that all members agreed on.
    ``leader``: its member id. ``session_timeout_ms`` and ``rebalance_timeout_ms`` are the leader's own.
    """

    KIND: ClassVar[str] = "led_generation"

    event_id: str
    group: str
    timestamp_ms: int
    generation: int
    assignor: str
    leader: str
    joined_ms: int
    members: tuple[LedMember, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    process: str
    sequence: int
    cluster_id: str = ""
    where: Workload | None = None
    revision: int = 0
