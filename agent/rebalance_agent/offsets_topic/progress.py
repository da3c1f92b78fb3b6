"""Detects partitions that a client has stopped reading. Pure.

A broker that fails, or whose leaders move, can leave librdkafka's fetcher of a partition waiting forever, without an
error: the topic then only looks quiet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["STUCK_S", "ReadingProgress"]

STUCK_S = 30.0
"""Seconds without progress, while there are records to read and brokers answer, after which reading counts as stuck."""


class _Waiting(NamedTuple):
    position: int
    since: float


class ReadingProgress:
    """The partitions in which records follow, and the time since which the client has not read them."""

    def __init__(self) -> None:
        """Start without partitions."""
        self._waiting: dict[int, _Waiting] = {}

    def stuck(self, positions: Mapping[int, int], ends: Mapping[int, int], now: float) -> list[int]:
        """Return, in order, the partitions that were not read for `STUCK_S` although there were records to read.

        ``positions``, ``ends``: partition -> the next offset to read, and the log's end offset. ``now``: monotonic
        seconds.
        """
        behind = {number: positions[number] for number, end in ends.items() if positions.get(number, end) < end}
        before = self._waiting
        self._waiting = {
            number: waiting
            if (waiting := before.get(number)) and waiting.position == position
            else _Waiting(position, now)
            for number, position in behind.items()
        }
        return sorted(number for number, waiting in self._waiting.items() if now - waiting.since >= STUCK_S)

    def reset(self) -> None:
        """Restart the measurement, since brokers do not answer, or the client was replaced."""
        self._waiting = {}
