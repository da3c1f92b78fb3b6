"""Keeps the topics of a simulated consumer, and decides whether the consumer must join again because of them."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.model.episode import Trigger
from rebalance_agent.testing.simulation.shared_state import SharedState

__all__ = ["MemberTopics"]


class MemberTopics:
    """The topics to which a member subscribes, those with which it joined, and a leader's partition counts then."""

    def __init__(self, topics: tuple[str, ...], shared: SharedState) -> None:
        """Start with a subscription to ``topics``."""
        self.wanted = self.joined = topics
        self._shared = shared
        self._counts: dict[str, int] | None = None
        self._racks_changed = False

    def join(self) -> None:
        """Record that the member joins with the wanted topics; the leader is elected later."""
        self.joined, self._counts, self._racks_changed = self.wanted, None, False

    def lead(self, topics: Iterable[str]) -> None:
        """Keep the partition counts of all ``topics`` of the group, which only the leader watches."""
        self._counts = self._shared.counts(topics)

    def see_racks(self) -> None:
        """Record that partitions have other racks, if the member leads; only a leader watches racks."""
        self._racks_changed = self._counts is not None

    @property
    def changed(self) -> bool:
        """Whether the member has to join again."""
        return self._racks_changed or self._counts_changed or self.wanted != self.joined

    @property
    def reason(self) -> Trigger:
        """The reason why the member joins again: a change of its topics, else `Trigger.REJOIN`."""
        if self.wanted != self.joined:
            return Trigger.SUBSCRIPTION_CHANGED
        if self._counts is None or not self._counts_changed:
            return Trigger.REJOIN
        new = any(now and not self._counts[topic] for topic, now in self._shared.counts(self._counts).items())
        return Trigger.TOPICS_CHANGED if new else Trigger.PARTITIONS_CHANGED

    @property
    def _counts_changed(self) -> bool:
        return self._counts is not None and self._counts != self._shared.counts(self._counts)
