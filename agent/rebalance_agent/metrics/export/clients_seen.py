"""What a sidecar remembers of the consumers beside it: what each owns, since when it stands still."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.partitions import TopicPartitions, pairs

__all__ = ["CLIENTS_MAX", "OWNED_MAX", "ClientsSeen", "ConsumerStatus", "SeenClient"]

CLIENTS_MAX = 1_000
"""Consumers remembered: a pod has a few; restarted processes add up until they have been silent for long enough."""

OWNED_MAX = 1_000_000
"""Partitions remembered over all consumers: more than one pod can own, and some 100 MB."""


@dataclass(slots=True)
class SeenClient:
    """One consumer: a client id in a group in one process.

    ``seen`` is monotonic seconds; ``generation`` -1 where unknown; ``stalled_ms`` is when its revoked or lost callback
    was entered, until its next assigned callback has returned; ``pulse``: its process says now and then that it lives.
    """

    group: str
    client_id: str
    seen: float
    generation: int = -1
    owned: set[tuple[str, int]] = field(default_factory=set)
    stalled_ms: int | None = None
    skew: float | None = None
    pulse: bool = False
    sequences: dict[str, int] = field(default_factory=dict)


class ConsumerStatus(NamedTuple):
    """One consumer. ``generation`` is -1, ``skew`` None where unknown; ``stalled_ms``: since when it stands still."""

    group: str
    client_id: str
    generation: int
    partitions: int
    skew: float | None
    stalled_ms: int | None
    owned: TopicPartitions


class ClientsSeen:
    """Consumers by process, group and client id; the longest silent are forgotten first."""

    def __init__(self) -> None:
        """Nobody has been seen."""
        self._clients: dict[tuple[str, str, str], SeenClient] = {}

    def __iter__(self) -> Iterator[SeenClient]:
        """Everyone remembered, the longest silent first."""
        return iter(self._clients.values())

    def see(self, event: MemberEvent | AssignEvent, now: float) -> SeenClient | None:
        """The event's consumer, or None when this event was seen before (a sender that had no answer repeats)."""
        key = (event.process, event.group, event.client_id)
        client = self._clients.pop(key, None) or SeenClient(event.group, event.client_id, now)
        self._clients[key] = client
        client.seen = now
        if event.sequence <= client.sequences.get(event.KIND, -1):
            return None
        client.sequences[event.KIND] = event.sequence
        return client

    def renew(self, process: str, now: float) -> list[SeenClient]:
        """The process lives: who it is."""
        keys = [key for key in self._clients if key[0] == process]
        for key in keys:
            client = self._clients[key] = self._clients.pop(key)
            client.seen, client.pulse = now, True
        return [self._clients[key] for key in keys]

    def callback(self, client: SeenClient, event: MemberEvent) -> float | None:
        """Note what a callback changed; the length in seconds of the stall that it ended, if it did."""
        if event.callback is Callback.LEFT:
            client.owned.clear()
            client.stalled_ms = None
            return None
        client.generation = max(client.generation, event.generation)
        partitions = pairs(event.partitions)
        if event.callback is not Callback.ASSIGNED:
            client.owned -= partitions
            if partitions and client.stalled_ms is None:
                client.stalled_ms = event.started_ms
            return None
        for other in self:
            # Who is assigned a partition has it alone: a consumer that was killed never said that it gave it up.
            if other.group == client.group:
                other.owned -= partitions
        client.owned |= partitions
        since, client.stalled_ms = client.stalled_ms, None
        return None if since is None else max(0, event.timestamp_ms - since) / 1000

    def forget(self, client: SeenClient) -> None:
        """The consumer has left."""
        self._clients = {key: each for key, each in self._clients.items() if each is not client}

    def forget_silent(self, before: float, lifeless_before: float) -> list[SeenClient]:
        """Forget who was last seen before these moments, and the longest silent beyond the bounds; who they were.

        ``lifeless_before`` is for those whose process used to say that it lives.
        """
        owned = sum(len(client.owned) for client in self)
        gone: list[SeenClient] = []
        for client in tuple(self):
            heard = client.seen >= (lifeless_before if client.pulse else before)
            if heard and len(self._clients) - len(gone) <= CLIENTS_MAX and owned <= OWNED_MAX:
                continue
            gone.append(client)
            owned -= len(client.owned)
        names = set(map(id, gone))
        self._clients = {key: each for key, each in self._clients.items() if id(each) not in names}
        return gone
