"""A group's totals, which never decrease. They include a running stall's lower bound, and the rest after settling."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.tracking.patterns.group_stalls import Limit, StalledTime, StallLimits
from rebalance_agent.tracking.views import STALL_BUCKETS, Counters, Exemplar, StallHistogram

__all__ = ["Advance", "CounterTotals"]


@dataclass(frozen=True, slots=True)
class Advance:
    """Amounts counted while a rebalance was running: stalled partition-seconds, and stalls of the whole group."""

    partition_seconds: float = 0.0
    group_stalls: Mapping[Limit, float] = field(default_factory=dict)


class CounterTotals:
    """The totals of one group: ``counters`` and ``group_stalls`` as of ``counted_until_ms``.

    Times are by the observer's clock (epoch ms); steps backwards count nothing.
    """

    def __init__(self, now_ms: int, limits: StallLimits = StallLimits()) -> None:  # noqa: B008 - it is frozen
        """Start at zero; ``limits``: when the group counts as stalled."""
        self.counted_until_ms = now_ms
        self.counters = Counters()
        self.group_stalls = StalledTime(limits)
        self._taken_stalls = self.group_stalls.seconds
        self._owned = 0
        self._stalled = 0
        self._advanced_seconds = 0.0

    def advance(self, now_ms: int) -> None:
        """Count all partition-seconds and the stalled partition-seconds since the last call."""
        seconds = max(0, now_ms - self.counted_until_ms) / 1000
        if not seconds:
            return
        self.counted_until_ms = now_ms
        if self._owned:
            stalled = min(self._stalled, self._owned) * seconds
            self._advanced_seconds += stalled
            self._add_seconds(stalled, self._owned * seconds)

    def restart(self, now_ms: int) -> None:
        """Handle a clock that was set back to ``now_ms``: continue counting from there."""
        self._end_group_stall()
        self.counted_until_ms = now_ms
        self._judge_group_stall()

    def set_partitions(self, partitions: int, now_ms: int) -> None:
        """Set the number of partitions that the group subscribes to, 0 while it is Empty, as of ``now_ms``."""
        self.advance(now_ms)
        self._owned = partitions
        self._judge_group_stall()

    def set_stalled(self, partitions: int, now_ms: int) -> None:
        """Set the number of stalled partitions, as of ``now_ms``."""
        self.advance(now_ms)
        self._stalled = partitions
        self._judge_group_stall()

    def take_advance(self) -> Advance:
        """Return and reset the amounts counted in advance; the rebalance and its group stall end now."""
        self._end_group_stall()
        now, before = self.group_stalls.seconds, self._taken_stalls
        advanced = Advance(self._advanced_seconds, {limit: now[limit] - before[limit] for limit in Limit})
        self._advanced_seconds, self._taken_stalls = 0.0, now
        self._judge_group_stall()
        return advanced

    def give_back(self, advanced: Advance) -> None:
        """Add amounts that were taken to those of the present: the rebalance goes on."""
        self._advanced_seconds += advanced.partition_seconds
        self._taken_stalls = {
            limit: taken - advanced.group_stalls[limit] for limit, taken in self._taken_stalls.items()
        }

    def expect_reports(self) -> bool:
        """Start the counters that need members' reports at 0; return False if they were started before."""
        begins = self.counters.assign_errors is None
        if begins:
            stalls = {**self.counters.stalls, Basis.EXACT: StallHistogram()}
            self.counters = replace(self.counters, assign_errors=0, doubly_owned_partition_seconds=0.0, stalls=stalls)
        return begins

    def fail_assign(self) -> None:
        """Count an ``assign()`` that raised; its generation assigned nothing."""
        self.counters = replace(self.counters, assign_errors=(self.counters.assign_errors or 0) + 1)

    def own_doubly(self, partition_seconds: float) -> None:
        """Count partition-seconds in which partitions had two owners."""
        total = (self.counters.doubly_owned_partition_seconds or 0.0) + partition_seconds
        self.counters = replace(self.counters, doubly_owned_partition_seconds=total)

    def abort(self, generations: int) -> None:
        """Count aborted generations."""
        self.counters = replace(self.counters, aborted=self.counters.aborted + generations)

    def expel(self, members: int) -> None:
        """Count members that were removed because they were too slow."""
        self.counters = replace(self.counters, expelled=self.counters.expelled + members)

    def change_polled(self) -> None:
        """Count a difference between two descriptions of a polled group."""
        self.counters = replace(self.counters, polled_changes=self.counters.polled_changes + 1)

    def add_group_stalls(self, spans: Iterable[float], counted: Mapping[Limit, float]) -> Mapping[Limit, float]:
        """Count the group stalls of a settled episode (seconds); return the amounts counted so far.

        ``counted``: the part of these stalls that was counted before.
        """
        before = self.group_stalls.seconds
        self.group_stalls = self.group_stalls.add(spans, counted)
        more = {limit: self.group_stalls.seconds[limit] - before[limit] for limit in Limit}
        # These amounts belong to a rebalance that is over, not to the running rebalance.
        self._taken_stalls = {limit: self._taken_stalls[limit] + more[limit] for limit in Limit}
        return {limit: counted.get(limit, 0.0) + more[limit] for limit in Limit}

    def settle(self, closing: GenerationEvent, advanced_seconds: float, started_from_empty_seconds: float) -> None:
        """Count a settled episode; ``advanced_seconds`` of its stalled partition-seconds have already been counted.

        ``started_from_empty_seconds``: partition-seconds between the first member's join and the first assignment, when
        the number of partitions was unknown.
        """
        self._add_seconds(0.0, started_from_empty_seconds)
        totals = self.counters
        if stall := closing.stall:
            self._add_seconds(max(0.0, stall.partition_seconds - advanced_seconds), 0.0)
            # A rebalance in which nothing stopped is exact even without reports, but the exact histogram starts with
            # reports.
            basis = stall.basis if Basis.EXACT in self.counters.stalls else Basis.BOUND
            totals = _with_stall(self.counters, closing, stall, basis)
        if closing.members:
            count = totals.completed.get(closing.trigger, 0) + 1
            totals = replace(totals, completed={**totals.completed, closing.trigger: count})
        self.counters = replace(
            totals,
            followups=totals.followups + closing.followups,
            noop=totals.noop + closing.noop,
            revoked=totals.revoked + (closing.revoked or 0),
            assigned=totals.assigned + closing.assigned,
            lost=totals.lost + (closing.lost_min or 0),
            moved=totals.moved + (closing.moved or 0),
            moved_excess=totals.moved_excess + (closing.excess or 0),
        )

    def _judge_group_stall(self) -> None:
        """Begin or end the stall of the whole group, as of ``counted_until_ms``."""
        stalled = self._owned > 0 and self._stalled >= self.group_stalls.limits.needed(self._owned)
        self.group_stalls = self.group_stalls.set(self.counted_until_ms, stalled=stalled)

    def _end_group_stall(self) -> None:
        self.group_stalls = self.group_stalls.set(self.counted_until_ms, stalled=False)

    def _add_seconds(self, stalled: float, total: float) -> None:
        # A stall that began before counting started must not make the counter exceed the total.
        counters = self.counters
        stalled += counters.stalled_partition_seconds
        self.counters = replace(
            counters,
            stalled_partition_seconds=stalled,
            partition_seconds=max(counters.partition_seconds + total, stalled),
        )


def _with_stall(counters: Counters, closing: GenerationEvent, stall: Stall, basis: Basis) -> Counters:
    """Return the counters with the stall of ``closing``; the caller counts its partition-seconds."""
    histogram = counters.stalls.get(basis, StallHistogram())
    upper_seconds, upper = stall.upper_partition_seconds, counters.upper_stalls
    return replace(
        counters,
        stalls={**counters.stalls, basis: _grown(histogram, closing, stall.lower_seconds)},
        upper_stalls=upper if stall.seconds is None else _grown(upper, closing, stall.seconds),
        upper_stalled_partition_seconds=counters.upper_stalled_partition_seconds
        + (stall.partition_seconds if upper_seconds is None else upper_seconds),
    )


def _grown(histogram: StallHistogram, closing: GenerationEvent, seconds: float) -> StallHistogram:
    bucket = bisect_left(STALL_BUCKETS, seconds)
    counts = tuple(count + (index == bucket) for index, count in enumerate(histogram.counts))
    trace = closing.cluster_id, closing.group, closing.generation
    exemplars = {**histogram.exemplars, bucket: Exemplar(closing.event_id, seconds, closing.timestamp_ms, trace)}
    return StallHistogram(counts, histogram.sum_seconds + seconds, exemplars)
