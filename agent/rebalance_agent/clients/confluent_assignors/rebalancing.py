"""Rebalances on the application's thread: the user's callbacks, and the data consumer's assignment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from rebalance_agent.clients.confluent_assignors.offsets import Offsets, OffsetStore, listed

__all__ = ["Callback", "Callbacks", "Rebalancing"]

Callback = Callable[[Any, list[TopicPartition]], object]
"""Called with the consumer and the partitions concerned."""


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The user's callbacks, the arguments of ``subscribe``."""

    on_assign: Callback | None = None
    on_revoke: Callback | None = None
    on_lost: Callback | None = None


@dataclass(eq=False)
class Rebalancing:
    """A rebalance listener that calls ``assign`` or ``unassign`` after a callback that has not done so.

    A callback's exception is raised from the application's ``poll`` afterwards.

    Partitions are assigned to ``data``; ``commit`` gets the uncommitted offsets of revoked partitions.
    """

    consumer: Any
    data: confluent_kafka.Consumer
    offset_store: OffsetStore
    commit: Callable[[Offsets], None]
    cooperative: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        """Start outside of a rebalance."""
        self.callbacks = Callbacks()
        self._assigning = False
        self._revoking = False
        self._lost = False

    def on_partitions_assigned(self, assigned: Iterable[tuple[str, int]]) -> None:
        """Run ``on_assign`` and read ``assigned``."""
        partitions = listed(assigned)
        self._assigning = True
        try:
            _call(self.callbacks.on_assign, self.consumer, partitions)
        finally:
            if self._assigning:
                (self.incremental_assign if self.cooperative else self.assign)(partitions)

    def on_partitions_revoked(self, revoked: Iterable[tuple[str, int]]) -> None:
        """Run ``on_revoke``, stop reading ``revoked``, and commit stored offsets; the group waits meanwhile."""
        self._end(revoked, self.callbacks.on_revoke)

    def on_partitions_lost(self, lost: Iterable[tuple[str, int]]) -> None:
        """Run ``on_lost`` and stop reading ``lost``, without a commit: they may have other owners already."""
        self._lost = True
        try:
            self._end(lost, self.callbacks.on_lost or self.callbacks.on_revoke)
        finally:
            self._lost = False

    def positions(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return partition -> stored offset, for those that have one."""
        return self.offset_store.positions(partitions)

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Execute ``consumer.assign()``, which is allowed only in ``on_assign``."""
        self._inside(self._assigning, "assign() outside of on_assign: the group assigns partitions")
        self._assigning = False
        self.data.assign(partitions)
        self.offset_store.disown(self.offset_store.owned)
        self.offset_store.own((partition.topic, partition.partition) for partition in partitions)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Execute ``consumer.incremental_assign()``, which is allowed only in ``on_assign``."""
        self._inside(self._assigning, "incremental_assign() outside of on_assign")
        self._assigning = False
        self.data.incremental_assign(partitions)
        self.offset_store.own((partition.topic, partition.partition) for partition in partitions)

    def unassign(self) -> None:
        """Execute ``consumer.unassign()``, which is allowed only in ``on_revoke`` and ``on_lost``."""
        self._inside(self._revoking, "unassign() outside of on_revoke and on_lost: call unsubscribe() to leave")
        self.data.unassign()
        self._settle(self.offset_store.disown(self.offset_store.owned))

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Execute ``consumer.incremental_unassign()``, which is allowed only in ``on_revoke`` and ``on_lost``."""
        self._inside(self._revoking, "incremental_unassign() outside of on_revoke and on_lost")
        self.data.incremental_unassign(partitions)
        self._settle(self.offset_store.disown((partition.topic, partition.partition) for partition in partitions))

    def _end(self, partitions: Iterable[tuple[str, int]], callback: Callback | None) -> None:
        going = frozenset((topic, number) for topic, number in partitions)
        self._revoking = True
        try:
            _call(callback, self.consumer, listed(going))
        finally:
            try:
                self._release(going & self.offset_store.owned)
            finally:
                self._revoking = False

    def _release(self, left: frozenset[tuple[str, int]]) -> None:
        if left and left == self.offset_store.owned:
            self.unassign()
        elif left:
            self.incremental_unassign(listed(left))

    def _settle(self, due: Offsets) -> None:
        if due and not self._lost:
            self.commit(due)

    @staticmethod
    def _inside(allowed: bool, text: str) -> None:
        if not allowed:
            raise KafkaException(KafkaError(KafkaError._STATE, text))  # noqa: SLF001


def _call(callback: Callback | None, consumer: Any, partitions: list[TopicPartition]) -> None:  # noqa: ANN401
    if callback is not None:
        callback(consumer, partitions)
