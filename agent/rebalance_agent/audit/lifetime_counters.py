"""Compares the counters of one process with the events that it published, in the order of publication.

A process counts the events that it publishes, except those of replayed records from before it started. If a group is
deleted, or moves to another replica, its counters start again at 0. So the counters of a group are the sums of one run
of consecutive events. The run starts with the first event, or where one of these cases may have happened, and ends with
the last event before the scrape. Replayed events come first by record time, but not always by publication: an aborted
generation is published at once, while an episode that may continue waits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_agent.audit.audit_report import AuditReport, Difference
from rebalance_agent.model.episode import Basis, Source
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent, GroupGoneEvent

__all__ = ["COUNTERS", "LifetimeCounters", "check_lifetime"]

SECONDS = "seconds of stalls"
_EXACT = {"stalls": f"stalls by {Basis.EXACT}", SECONDS: f"{SECONDS} by {Basis.EXACT}"}
"""Sum over all stalls -> sum over exact stalls only."""

_BY_BASIS = tuple(f" by {basis}" for basis in Basis)

COUNTERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "followups": ("kafka_rebalance_followups_total", {}),
    "noop": ("kafka_rebalance_noop_total", {}),
    "revoked": ("kafka_rebalance_partitions_revoked_total", {}),
    "assigned": ("kafka_rebalance_partitions_assigned_total", {}),
    "lost_min": ("kafka_rebalance_partitions_lost_total", {}),
    "moved": ("kafka_rebalance_partitions_moved_total", {}),
    "moved in excess": ("kafka_rebalance_partitions_moved_excess_total", {}),
    "aborted": ("kafka_rebalance_failed_total", {"reason": "aborted"}),
    "stalls": ("kafka_rebalance_stall_seconds_count", {}),
    SECONDS: ("kafka_rebalance_stall_seconds_sum", {}),
    "completed": ("kafka_rebalance_completed_total", {}),
}
"""Compared quantity -> its metric, summed over all series with these labels; ``completed`` also by trigger."""

ROUNDING = 0.002
"""Rounding error (seconds) allowed per event in sums of stalls; all other counters are integers and must be equal."""

_Sums = dict[str, float]


@dataclass(frozen=True, slots=True)
class LifetimeCounters:
    """One process: the ``counters`` of each group in its last scrape, at ``scraped_ms`` (epoch ms), and its events.

    ``settled_ms``: minimum age (ms) of an event's record at the scrape for the event to be counted with certainty.
    ``started_from_snapshot``: the process replayed records from before its start, or shared groups with other replicas.
    ``replayed``: the number of replayed records, an upper bound of events published without counting; None if unknown.
    """

    name: str
    counters: Mapping[str, Mapping[str, float]]
    events: Sequence[Event]
    scraped_ms: int | None = None
    settled_ms: int = 60_000
    started_from_snapshot: bool = False
    replayed: int | None = None


def check_lifetime(lifetime: LifetimeCounters, report: AuditReport) -> None:
    """Compare every group that has counters or events, and add the differences to ``report``.

    A group without counters must have no counted events: it was deleted, or is newer than the scrape.
    """
    published, again = _by_group(lifetime.events), Counter[str]()
    shared = lifetime.started_from_snapshot and lifetime.replayed is None
    for group in sorted(lifetime.counters.keys() | published.keys()):
        counters, events = lifetime.counters.get(group), published.get(group, [])
        if counters is None and shared:
            report.leave("groups without counters, which may be another replica's")
            continue
        fitting = [run for run in _runs(lifetime, events) if not _differing(run, counters or {})]
        if shared and events and fitting and not any(run.events for run in fitting):
            report.leave("groups whose counters are all 0, which another replica may have reported")
            continue
        report.counters += counters is not None
        again[group] = min((run.again for run in fitting), default=0)
        if not fitting:
            number = max((event.generation for event in events if isinstance(event, GenerationEvent)), default=0)
            whole = _Run({}, _running_sums(events)[-1], len(events), 0)
            what = ", ".join(_differing(whole, counters or {})) or "no consecutive events of the group have these sums"
            none = "the group has no counters; " if counters is None else ""
            report.differ(Difference(group, number, f"counters of {lifetime.name}: {none}{what}"))
    if lifetime.replayed is not None and again.total() > lifetime.replayed:
        ((worst, _),) = again.most_common(1)
        what = (
            f"the counters of all groups lack {again.total()} published events (most of them of this group), but may "
            f"lack at most {lifetime.replayed}: one for each record that the observer read again"
        )
        report.differ(Difference(worst, 0, f"counters of {lifetime.name}: {what}"))


def _by_group(events: Sequence[Event]) -> dict[str, list[Event]]:
    """Return the first event of each fact, by group: revisions and events from polls do not change these counters."""
    by_group: dict[str, list[Event]] = defaultdict(list)
    event_ids = set()
    for event in events:
        if not isinstance(event, GenerationEvent | AbortedEvent | GroupGoneEvent) or event.source is not Source.RECORDS:
            continue
        if event.event_id not in event_ids:
            event_ids.add(event.event_id)
            by_group[event.group].append(event)
    return by_group


class _Run(NamedTuple):
    """A run of ``events`` events: the sums ``until`` the run's end, and the uncounted sums ``before`` the run.

    ``again``: number of events before the run that were published but not counted; each has a replayed record.
    """

    before: Mapping[str, float]
    until: Mapping[str, float]
    events: int
    again: int


def _runs(lifetime: LifetimeCounters, events: Sequence[Event]) -> Iterator[_Run]:
    """Yield all runs of events that may have been counted."""
    sums = _running_sums(events)
    must = max((index + 1 for index, event in enumerate(events) if not _may_come_later(lifetime, event)), default=0)
    for before, left_out, first, again in _starts(lifetime, events, sums):
        for end in range(max(first, must), len(events) + 1):
            yield _Run(before, sums[end], end - left_out, again)


def _starts(
    lifetime: LifetimeCounters, events: Sequence[Event], sums: Sequence[_Sums]
) -> Iterator[tuple[_Sums, int, int, int]]:
    """Yield where a run may start: sums and number of the events before, the index after them, and `_Run.again`."""
    for index, again in enumerate(_again(events)):
        if index == 0 or lifetime.started_from_snapshot or isinstance(events[index - 1], GroupGoneEvent):
            yield sums[index], index, index, again
    if lifetime.started_from_snapshot:
        in_time = sorted(range(len(events)), key=lambda index: events[index].timestamp_ms)
        ordered, first = [events[index] for index in in_time], 0
        for number, (left_out, again) in enumerate(zip(_running_sums(ordered), _again(ordered), strict=True)):
            first = max(first, in_time[number - 1] + 1) if number else 0
            yield left_out, number, first, again


def _again(events: Sequence[Event]) -> list[int]:
    """Return, for each number of first events, how many have their own record since the last deletion.

    A deletion removes the group's counters, so events before the deletion do not matter.
    """
    counts = [0]
    for event in events:
        own = isinstance(event, GenerationEvent) and not event.part
        counts.append(0 if isinstance(event, GroupGoneEvent) else counts[-1] + own)
    return counts


def _may_come_later(lifetime: LifetimeCounters, event: Event) -> bool:
    return lifetime.scraped_ms is not None and event.timestamp_ms > lifetime.scraped_ms - lifetime.settled_ms


def _running_sums(events: Sequence[Event]) -> list[_Sums]:
    """Return the sums over each number of first events, from none to all."""
    sums: _Sums = defaultdict(float)
    running = [dict(sums)]
    for event in events:
        _add(sums, event)
        running.append(dict(sums))
    return running


def _add(sums: _Sums, event: Event) -> None:
    if isinstance(event, AbortedEvent):
        sums["aborted"] += event.generations
    if not isinstance(event, GenerationEvent) or not event.closes_episode or event.part:
        return
    for name in ("followups", "noop", "revoked", "assigned", "lost_min", "moved"):
        sums[name] += getattr(event, name) or 0
    sums["moved in excess"] += event.excess or 0
    if event.members:
        sums["completed"] += 1
        sums[f"completed by {event.trigger}"] += 1
    if event.stall is not None:
        sums["stalls"] += 1
        sums[SECONDS] += event.stall.lower_seconds
        if event.stall.basis is Basis.EXACT:
            sums[_EXACT["stalls"]] += 1
            sums[_EXACT[SECONDS]] += event.stall.lower_seconds


def _differing(run: _Run, counters: Mapping[str, float]) -> list[str]:
    """Describe the counters that differ from the sums of the events of ``run``."""

    def sum_of(name: str) -> float:
        return run.until.get(name, 0) - run.before.get(name, 0)

    # In the first scrape after members began to report, the series of exact stalls is 0, whatever was counted.
    maybe_more = _EXACT if counters.get(_EXACT["stalls"]) == 0 else {}
    differing = []
    for name in sorted(run.until.keys() | counters.keys()):
        if name.endswith(_BY_BASIS):  # the counters may have another basis for the first stalls
            continue
        counted, expected = counters.get(name, 0), sum_of(name)
        rounding = ROUNDING * max(1, run.events) if name == SECONDS else 0
        expected_min = expected - sum_of(maybe_more.get(name, ""))
        if not expected_min - rounding <= counted <= expected + rounding:
            differing.append(f"{name} is {counted:g}, but its events give {expected:g}")
    return differing
