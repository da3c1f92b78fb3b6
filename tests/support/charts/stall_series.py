"""The series of a stalled group of 4 members and 12 partitions, from a real tracker.

Times are seconds since `T0`. The stall begins at ``began`` and ends with the record of the next generation.
"""

from __future__ import annotations

from enum import StrEnum

from rebalance_agent.metrics.group_rows import GROUP_STALLED_SECONDS, IN_PROGRESS
from rebalance_agent.metrics.group_samples import running_samples
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import (
    T0,
    assigned,
    committed,
    feed,
    in_time,
    listed,
    member,
    record,
    revoked,
    tick,
    topics,
)

GROUP = "g"
POLL_MS = 200
"""The default of ``list_interval_ms``."""

MEMBERS = {name: tuple(range(3 * index, 3 * index + 3)) for index, name in enumerate("abcd")}


class StallCase(StrEnum):
    """The cause of a stall, and the evidence of it."""

    SYNC = "the leader assigns slowly, and no member reports"
    REPORTED = "one member rejoins late, and all members report"
    JOIN = "one member rejoins late, and no member reports"


def observations(case, began, seconds):
    """The observer's observations of the stall."""
    begin_ms, end_ms = round(began * 1000), round((began + seconds) * 1000)
    waits = GroupState.COMPLETING_REBALANCE if case is StallCase.SYNC else GroupState.PREPARING_REBALANCE
    joined_ms = begin_ms if case is StallCase.SYNC else end_ms - 10
    members = [member(name, numbers) for name, numbers in MEMBERS.items()]
    yield from (topics(0, t=12), record(1_000, 0), record(4_000, 1, *members, joined=3_990))
    yield from (committed(at, *range(12)) for at in range(5_000, begin_ms - 1_000, 5_000))
    yield listed(begin_ms - 100)
    yield from (listed(at, GROUP, state=waits) for at in range(begin_ms + POLL_MS - 100, end_ms, POLL_MS))
    yield record(end_ms, 2, *members, joined=joined_ms)
    yield committed(end_ms + 100, *range(12))
    if case is StallCase.REPORTED:
        for name, numbers in MEMBERS.items():
            stopped_ms = end_ms - 60 if name == "d" else begin_ms
            yield assigned(name, 4_000, 4_010, 1, numbers)
            yield revoked(name, stopped_ms, stopped_ms + 10, 1, numbers)
            yield assigned(name, end_ms, end_ms + 10, 2, numbers)


def scraped(case, began, seconds, scrape, until):
    """Series -> values at 0, ``scrape``, twice that and so on."""
    seen = [*observations(case, began, seconds), *(tick(at * 1000) for at in range(1, until))]
    tracker, ordered, series = Tracker("cluster", list_period_ms=POLL_MS), in_time(*seen), {}
    for at in range(0, until, scrape):
        while ordered and _ms(ordered[0]) <= T0 + at * 1000:
            feed(tracker, ordered.pop(0), commits=False)
        if view := tracker.view(GROUP):
            for metric, values in running_samples(view, T0 + at * 1000):
                if metric in (GROUP_STALLED_SECONDS, IN_PROGRESS):
                    for labels, value in values:
                        series.setdefault((metric.name, *labels), {})[at] = value
    return {labels: [values.get(at) for at in range(0, until, scrape)] for labels, values in series.items()}


def _ms(observation):
    return max(getattr(observation, name) for name in ("seen_ms", "answered_ms", "at_ms") if hasattr(observation, name))


def notation(values):
    """The values in promtool's notation."""
    return " ".join("_" if value is None else f"{value:g}" for value in values)


def name_of(labels):
    """The series in promtool's notation; ``labels``: its name and, if it has one, its limit."""
    limit = f', limit="{labels[1]}"' if len(labels) > 1 else ""
    return f'{labels[0]}{{consumergroup="{GROUP}"{limit}}}'
