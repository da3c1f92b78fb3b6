"""Tells what was read of the offsets topic: all of it to whoever hears commits, what is of groups to the tracker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.replay import Replay

__all__ = ["ObservationEmitter"]


class ObservationEmitter:
    """Puts `GroupRecord` and `EpochRecord` observations. Used by one thread.

    ``replay``: which of the tail's records are read again, from snapshots on.
    """

    def __init__(
        self,
        context: CollectorContext,
        records: GroupRecords,
        hear: Callable[[Sequence[TopicRecord], Mapping[int, int]], None] | None,
    ) -> None:
        """``hear`` is told all that the tail reads, and up to where."""
        self._context = context
        self._records = records
        self._hear = hear
        self.replay = Replay()

    def begin(self) -> None:
        """The tail starts, or starts over: nothing is read again until somebody says so."""
        self.replay = Replay()

    def old(self, messages: Iterable[TopicRecord], *, replayed: bool = False) -> None:
        """Observe what groups were before; ``replayed``: a snapshot says so."""
        for message in messages:
            self._put(message, live=False, replayed=replayed)

    def live(
        self, records: Sequence[TopicRecord], messages: Sequence[TopicRecord], positions: Mapping[int, int]
    ) -> None:
        """Tell all ``records`` and observe ``messages``, those of groups among them, each in its turn.

        What is concluded must not depend on how many were read at once. ``positions``: where the tail reads on.
        """
        if not (self._hear or self.replay):
            for message in messages:
                self._put(message, live=True)
            return
        hear = self._hear or (lambda _records, _positions: None)
        of_groups, told = {id(message) for message in messages}, 0
        for end, record in enumerate(records, 1):
            if id(record) in of_groups:
                self.replay.see(records[told:end])
                hear(records[told:end], {})
                self._put_live(record)
                told = end
        self.replay.see(records[told:])
        hear(records[told:], positions)

    def _put_live(self, message: TopicRecord) -> None:
        again = self.replay.is_old(message)
        gap = again and self.replay.has_gap(message.partition())
        self._put(message, live=True, replayed=again, after_gap=gap)
        if again:
            self._context.meters.replayed(1)

    def _put(self, message: TopicRecord, *, live: bool, replayed: bool = False, after_gap: bool = False) -> None:
        record = self._records.decode(message, live=live, replayed=replayed, after_gap=after_gap)
        if record is not None:
            self._context.inbox.put(record)
