"""Detects, from the offsets of our snapshots' records, that another program writes to their topic; warns once."""

from __future__ import annotations

import structlog

from rebalance_agent.clock import Clock

__all__ = ["CERTAIN_S", "OtherWriter"]

CERTAIN_S = 60.0
"""Shortest time (seconds) between the first and the last record of another writer for a warning: a replaced observer
writes its last snapshot while its successor writes its first."""


class OtherWriter:
    """Tracks the offsets of our records in each partition: brokers number all records without gaps.

    Gaps occur only with transactions, which no writer of snapshots uses, and after a record that was reported as lost
    but may be in Kafka: then the offsets must be dropped.
    """

    def __init__(self, topic: str, clock: Clock, *, expected: bool) -> None:
        """``expected``: others write to ``topic`` by design, as replicas do; then nothing is reported."""
        self._topic, self._clock, self._reported = topic, clock, expected
        self._next: dict[int, int] = {}
        self._first_s: float | None = None

    def delivered(self, partition: int, offset: int) -> None:
        """Process the offset of our next record in ``partition``; warn if others have written for `CERTAIN_S`."""
        expected = self._next.get(partition, offset)
        self._next[partition] = offset + 1
        if self._reported or offset <= expected:
            return
        now_s = self._clock.monotonic()
        self._first_s = now_s if self._first_s is None else self._first_s
        if now_s - self._first_s >= CERTAIN_S:
            self._reported = True
            structlog.get_logger("rebalance_agent.snapshots").warning(
                "state_topic_shared",
                topic=self._topic,
                reason="another program writes to it, probably a second observer",
                effect="both observers report the same rebalances, and each overwrites the other's snapshots",
                help="set another --state-topic for each observer, run one of them with --read-only, or let both share "
                "the groups with --replicas-group",
            )

    def forget(self) -> None:
        """Drop all offsets: a record that was reported as lost may be in Kafka."""
        self._next.clear()
