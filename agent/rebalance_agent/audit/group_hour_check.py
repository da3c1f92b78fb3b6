"""Compares rows of ``group_hours`` with sums over the generations of each hour."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_agent.audit.audit_report import Difference
from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.table_rows import slowest_client_id
from rebalance_agent.model.episode import Stall
from rebalance_agent.model.events import AbortedEvent, GenerationEvent

__all__ = ["HOUR_COLUMNS", "STALL_HOURS_MAX", "GroupHourCheck"]

HOUR_MS = 3_600_000

STALL_HOURS_MAX = 366 * 24
"""Maximum number of hours over which a stall is spread: a wrong value must not take forever."""

STORM_GAP_MS = 60_000
STORM_REBALANCES = 5

HOUR_COLUMNS = (
    "rebalances", "by_trigger", "noops", "followups", "aborted", "moved", "moved_excess", "storms", "flapping",
    "stall_p50", "stall_p95", "stall_p99", "stall_max", "stalled_partition_seconds", "partition_seconds",
    "availability", "slowest_seconds", "slowest_client_id",
)  # fmt: skip
"""Columns compared in a row of ``group_hours``; ``group`` and ``hour_ms`` (the hour's start, epoch ms) identify it."""

_Row = Mapping[str, object]


@dataclass(slots=True)
class _Hour:
    """The sums of one group and hour: episodes that completed in the hour (up to generation ``number``), and stalls."""

    number: int = 0
    triggers: Counter[str] = field(default_factory=Counter)
    noops: int = 0
    followups: int = 0
    moved: int = 0
    moved_excess: int = 0
    storms: int = 0
    flapping: set[str] = field(default_factory=set)
    stalls: list[float] = field(default_factory=list)
    stalled: float = 0.0
    slowest: tuple[float, bool, str] | None = None
    aborted_min: int = 0
    aborted_max: int = 0
    seen: bool = False

    def row(self) -> dict[str, object]:
        """Return the columns that follow from the generations alone."""
        stalls = sorted(self.stalls)
        seconds, known, client_id = self.slowest or (None, False, "")
        return {
            "rebalances": self.triggers.total(),
            "by_trigger": dict(self.triggers),
            **{name: getattr(self, name) for name in ("noops", "followups", "moved", "moved_excess", "storms")},
            "flapping": sorted(self.flapping),
            **{f"stall_p{percent}": _percentile(stalls, percent) for percent in (50, 95, 99)},
            "stall_max": max(stalls, default=None),
            "stalled_partition_seconds": self.stalled,
            "slowest_seconds": seconds,
            "slowest_client_id": client_id if known else None,
        }


class GroupHourCheck:
    """Sums the events of generations (`add`) and of aborted generations (`abort`), then compares the hours.

    ``agreed``: the number of rows of ``group_hours`` without a difference.
    """

    def __init__(self) -> None:
        """Start without generations."""
        self.agreed = 0
        self._hours: defaultdict[tuple[str, int], _Hour] = defaultdict(_Hour)
        self._completed: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, event: GenerationEvent) -> None:
        """Add a closing event to the hour in which its episode completed; ignore other events."""
        if not event.closes_episode:
            return
        at_ms = event.phases.completed_ms
        hour = self._hours[event.group, at_ms // HOUR_MS]
        hour.number = max(hour.number, event.generation)
        if event.members:
            hour.triggers[event.trigger.value] += 1
            self._completed[event.group].append(at_ms)
        hour.noops += event.noop
        hour.followups += event.followups
        hour.moved += event.moved or 0
        hour.moved_excess += event.excess or 0
        hour.flapping.update(event.flapping or ())
        if event.slowest_seconds is not None:
            client_id = slowest_client_id(event)
            slowest = event.slowest_seconds, client_id is not None, client_id or ""
            hour.slowest = max(hour.slowest or slowest, slowest)
        if event.stall is not None:
            hour.stalls.append(event.stall.lower_seconds)
            self._spread(event.group, at_ms, event.stall)

    def abort(self, event: AbortedEvent, *, must: bool) -> None:
        """Add an aborted event to its hour; ``must``: it existed when the hours were computed, so it must count."""
        hour = self._hours[event.group, event.timestamp_ms // HOUR_MS]
        hour.aborted_max += event.generations
        hour.aborted_min += event.generations if must else 0

    def differences(self, rows: Iterable[_Row], aborted_since_ms: int) -> Iterator[Difference]:
        """Yield the differences of the rows, which have ``group``, ``hour_ms`` and `HOUR_COLUMNS`.

        ``aborted_since_ms``: the time (epoch ms) from which aborted generations are compared.
        """
        self._count_storms()
        for row in rows:
            group, number = str(row["group"]), int(str(row["hour_ms"])) // HOUR_MS
            hour = self._hours.get((group, number), _Hour())
            wrong = [*_wrong(row, hour, aborted=number >= aborted_since_ms // HOUR_MS)]
            wrong += ["it has two rows"] if hour.seen else []
            hour.seen = True
            self.agreed += not wrong
            yield from (_difference(group, number, hour, what) for what in wrong)
        for (group, number), hour in self._hours.items():
            # An aborted generation may have been published after the hours were computed.
            if not hour.seen and hour != _Hour(aborted_max=hour.aborted_max):
                yield _difference(group, number, hour, "it has no row")

    def _spread(self, group: str, end_ms: int, stall: Stall) -> None:
        """Spread the stalled partition-seconds evenly over the time of the longest stall."""
        if stall.lower_seconds <= 0:
            return
        length_ms = max(1, math.floor(min(stall.lower_seconds * 1000, STALL_HOURS_MAX * HOUR_MS) + 0.5))
        at_ms = end_ms - length_ms
        while at_ms < end_ms:
            next_ms = min(end_ms, (at_ms // HOUR_MS + 1) * HOUR_MS)
            self._hours[group, at_ms // HOUR_MS].stalled += stall.partition_seconds * (next_ms - at_ms) / length_ms
            at_ms = next_ms

    def _count_storms(self) -> None:
        """Count storms in the hour in which they start: rebalances that follow each other within a minute."""
        for group, times in self._completed.items():
            runs: list[list[int]] = []
            for at_ms in sorted(times):
                if runs and at_ms - runs[-1][-1] <= STORM_GAP_MS:
                    runs[-1].append(at_ms)
                else:
                    runs.append([at_ms])
            for run in runs:
                self._hours[group, run[0] // HOUR_MS].storms += len(run) >= STORM_REBALANCES


def _wrong(row: _Row, hour: _Hour, *, aborted: bool) -> Iterator[str]:
    for name, value in hour.row().items():
        if not _same(row[name], value):
            yield f"{name} is {row[name]!r}, but its generations give {value!r}"
    count_min, count_max, count = hour.aborted_min, hour.aborted_max, row["aborted"]
    if aborted and not (isinstance(count, int) and count_min <= count <= count_max):
        expected = count_max if count_min == count_max else f"{count_min} to {count_max}"
        yield f"aborted is {count!r}, but its events give {expected}"
    stalled, whole = row["stalled_partition_seconds"], row["partition_seconds"]
    if not (isinstance(stalled, float) and isinstance(whole, float) and stalled <= whole):
        yield f"partition_seconds is {whole!r}, but {stalled!r} partition-seconds were stalled"
    elif not _same(row["availability"], 1 - stalled / whole if whole else None):
        yield f"availability is {row['availability']!r}, but {stalled!r} of {whole!r} partition-seconds were stalled"


def _same(value: object, expected: object) -> bool:
    """Compare two values; floats may differ by rounding, since sums depend on their order."""
    if isinstance(value, float) and isinstance(expected, float):
        return math.isclose(value, expected)
    return value == expected


def _percentile(ordered: list[float], percent: int) -> float | None:
    """Return the smallest value that at least ``percent`` of the values do not exceed; None without values."""
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] if ordered else None


def _difference(group: str, number: int, hour: _Hour, what: str) -> Difference:
    try:
        begins = (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=number)).strftime("%Y-%m-%dT%H:%MZ")
    except OverflowError:
        begins = f"{number} of the epoch"
    return Difference(group, hour.number, f"in the hour {begins} {what}", (RecordPosition("group_hours"),))
