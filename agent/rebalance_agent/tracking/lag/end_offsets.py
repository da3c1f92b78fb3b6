"""Keeps a few samples (time, end offset) of each partition, from which lag in seconds is computed.

This needs no reading of records. A record's age is interpolated between the two samples around its offset, as if
records had been appended at a constant rate; for a record older than all samples, their mean rate is used. Samples that
are close together compared with their age are dropped first, so that a few samples cover days. Pure: the times are
arguments.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping

from rebalance_agent.model.generation_diff import Partition

__all__ = ["AGE_MAX_S", "SAMPLES_MAX", "EndOffsets"]

SAMPLES_MAX = 16
"""Maximum number of samples per partition, about 400 bytes. Over ten days of measurements every 15 s, the time between
two of them is at most three quarters of the older one's age."""

AGE_MAX_S = 7 * 86_400.0
"""Longest age in seconds: Kafka's default retention. For a longer time, a mean rate is no useful estimate."""


class _Samples:
    """Times (monotonic seconds) and end offsets of one partition, ascending; the first and last of equal offsets."""

    __slots__ = ("ends", "times")

    def __init__(self, at: float, end: int) -> None:
        self.times = array("d", (at,))
        self.ends = array("q", (end,))

    def add(self, at: float, end: int) -> None:
        if at <= self.times[-1]:
            return
        if len(self.ends) > 1 and end == self.ends[-1] == self.ends[-2]:
            self.times[-1] = at
            return
        self.times.append(at)
        self.ends.append(end)
        if len(self.times) > SAMPLES_MAX:
            self._thin(at)

    def _thin(self, now: float) -> None:
        times = self.times
        # The first sample and the last two stay: they show the longest age and the current rate.
        index = min(range(1, len(times) - 2), key=lambda i: (times[i + 1] - times[i - 1]) / (now - times[i - 1]))
        del times[index], self.ends[index]

    def reached(self, offset: int) -> float | None:
        """Return when the record at ``offset``, below the end, was appended; None if only one sample is known."""
        times, ends = self.times, self.ends
        after = bisect_right(ends, offset)
        if after == 0:
            grown, passed = ends[-1] - ends[0], times[-1] - times[0]
            return times[0] - (ends[0] - 1 - offset) * passed / grown if grown else None
        before = after - 1
        share = (offset - ends[before] + 1) / (ends[after] - ends[before])
        return times[before] + share * (times[after] - times[before])


class EndOffsets:
    """The end offsets of the partitions in the last measurement, and when earlier ones were reached."""

    def __init__(self) -> None:
        """Start without partitions."""
        self._samples: dict[Partition, _Samples] = {}
        self._at = 0.0

    def take(self, at: float, ends: Mapping[Partition, int]) -> None:
        """Store the end offsets of all partitions at ``at`` (monotonic seconds)."""
        samples = {}
        for partition, end in ends.items():
            known = self._samples.get(partition)
            # The end offset decreased: the topic was deleted and recreated, or records were lost.
            if known is None or end < known.ends[-1]:
                known = _Samples(at, end)
            else:
                known.add(at, end)
            samples[partition] = known
        self._samples, self._at = samples, at

    def end(self, partition: Partition) -> int | None:
        """Return the end offset; None if it is unknown."""
        known = self._samples.get(partition)
        return known.ends[-1] if known else None

    def age(self, partition: Partition, offset: int) -> float | None:
        """Return how many seconds ago the record at ``offset`` was appended, from 0 to `AGE_MAX_S`.

        The age is 0 if there is no such record yet, and None if it is unknown: nothing was appended since the partition
        was first measured, and the record is older than that.
        """
        known = self._samples.get(partition)
        if known is None:
            return None
        if offset >= known.ends[-1]:
            return 0.0
        reached = known.reached(offset)
        return None if reached is None else min(AGE_MAX_S, max(0.0, self._at - reached))
