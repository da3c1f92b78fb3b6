"""Measures the CPU of a scrape by number of groups, in this process without HTTP.

Synthetic records of groups of 20 members pass through decoder and tracker. The page is compared with the least that
``prometheus_client`` needs for the same number of samples: ``generate_latest`` with a collector that yields them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import process_time
from typing import TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from bench.measure import table
from bench.synthetic import generation
from rebalance_agent.clock import SystemClock
from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.tracking.observations import GroupRecord, Tick
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import GroupView

Result = TypeVar("Result")

GROUPS = (200, 2_000, 10_000)
MEMBERS = 20
CHANGED = 0.05
"""Share of the groups that have rebalanced since the last scrape: a storm."""


HEADER = (
    "groups",
    "series",
    "MB",
    "view of all s",
    "text of all s",
    "scrape s",
    "5 % rebalanced s",
    "prometheus_client s",
)


def main(scale: float = 1.0) -> None:
    """Print the table."""
    table(HEADER, (measured(round(groups * scale)) for groups in GROUPS))


def figures(scale: float) -> dict[str, float]:
    """Return the CPU seconds, which grow with the number of groups."""
    row = dict(zip(HEADER, measured(round(2_000 * scale)), strict=True))
    return {name: row[name] for name in HEADER[3:]}


def measured(groups: int) -> tuple[float, ...]:
    """Return a row of the table."""
    now_ms = SystemClock().now_ms()
    tracker = Tracker("bench")
    views: dict[str, GroupView | None] = {}
    shown: tuple[GroupView, ...] = ()

    def renew() -> None:
        nonlocal shown
        views.update({name: tracker.view(name) for name in tracker.changed()})
        shown = tuple(view for view in views.values() if view)

    def write() -> None:
        while page.refresh():
            pass

    def write_and_scrape() -> bytes:
        write()
        return page.text()

    page = GroupsPage(lambda: shown, SystemClock())
    play(tracker, groups, 1, now_ms)
    drawn, _ = timed(renew)
    written, _ = timed(write)
    scraped, _ = timed(page.text)
    play(tracker, round(groups * CHANGED), 2, now_ms + 60_000)
    renew()
    changed, text = timed(write_and_scrape)
    lines = [line for line in text.decode().splitlines() if line[:1] != "#"]
    peer, _ = timed(lambda: generate_latest(least_of(lines)))
    return groups, len(lines), len(text) / 1e6, drawn, written, scraped, changed, peer


def play(tracker: Tracker, groups: int, number: int, now_ms: int) -> None:
    """Pass a completed generation of each of the first ``groups`` groups to the tracker."""
    for index in range(groups):
        key, value = generation(f"group-{index:05}", number, now_ms, MEMBERS)
        record = decode_record(key, value)
        tracker.observe(GroupRecord(record.group, now_ms, now_ms, classic_group(record)))
    tracker.observe(Tick(now_ms + 30_000))
    while tracker.behind:
        tracker.observe(Tick(now_ms + 30_000))


def timed(call: Callable[[], Result]) -> tuple[float, Result]:
    """Return the CPU seconds of one call, and its result."""
    begin = process_time()
    result = call()
    return process_time() - begin, result


def least_of(lines: list[str]) -> CollectorRegistry:
    """Return a registry with as many samples as ``lines``, each with two labels."""

    class Least(Collector):
        def collect(self) -> Iterable[Metric]:
            family = GaugeMetricFamily("bench", "As many samples as the page has.", labels=("consumergroup", "other"))
            for index, line in enumerate(lines):
                family.add_metric((line[:20], str(index)), 1.0)
            yield family

    registry = CollectorRegistry()
    registry.register(Least())
    return registry


if __name__ == "__main__":
    main()
