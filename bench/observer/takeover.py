"""Time from the end of one of two replicas to exact data of its groups on the other: 2,000 groups.

Each replica owns half of the groups. One is killed (SIGKILL): after the session timeout the other one takes over its
partitions and continues from their snapshots. It is compared with a replica that is stopped and hands over its
partitions.
"""

from __future__ import annotations

import signal
from time import perf_counter, sleep
from typing import NamedTuple

from bench.measure import table
from bench.observer.observing import PATIENCE_S, Observer, observer
from bench.observer.start import compacted
from bench.synthetic import GROUPS
from rebalance_agent.offsets_topic.ownership import CLASSIC_TUNING

ENDS = {"killed": signal.SIGKILL, "stopped": signal.SIGTERM}

SNAPSHOT_S = 12.0
"""Seconds until each replica has written snapshots, which it does every five seconds."""

ASKED_EVERY_S = 0.2

GROUPS_LEAST = 20
"""Number of partitions of the offsets topic; with fewer, one replica may own all."""


class TakenOver(NamedTuple):
    """Seconds from a replica's end until all groups are exact on the other, and the other's CPU seconds in that
    time."""

    seconds: float
    cpu_s: float


def main(scale: float = 1.0) -> None:
    """Print the table."""
    groups = max(GROUPS_LEAST, round(GROUPS * scale))
    with compacted(groups) as kafka:
        rows = [(end, groups // 2, *taken_over(kafka.bootstrap_servers, groups, end)) for end in ENDS]
    timeout = f"session timeout {CLASSIC_TUNING['session.timeout.ms']} ms"
    table(("replica", "groups taken over", f"s ({timeout})", "CPU s"), rows)


def figures(scale: float) -> dict[str, float]:
    """Figures that grow with the number of groups."""
    groups = max(GROUPS_LEAST, round(GROUPS * scale))
    with compacted(groups) as kafka:
        found = {end: taken_over(kafka.bootstrap_servers, groups, end) for end in ENDS}
    return {f"takeover from a {end} replica, s": each.seconds for end, each in found.items()}


def taken_over(bootstrap: str, groups: int, end: str) -> TakenOver:
    """Run two replicas, end one, and wait until the other has its groups."""
    flags = ("--replicas-group", f"rebalance-agent-{end}", "--state-topic", f"bench-state-{end}")
    with observer(bootstrap, *flags) as stays, observer(bootstrap, *flags) as goes:
        stays.wait(lambda: _shared(stays, goes, groups), PATIENCE_S, ASKED_EVERY_S)
        sleep(SNAPSHOT_S)
        goes.process.send_signal(ENDS[end])
        begun, cpu_s = perf_counter(), stays.cpu_seconds()
        stays.wait(lambda: len(stays.generations()) >= groups, PATIENCE_S, ASKED_EVERY_S)
        return TakenOver(perf_counter() - begun, stays.cpu_seconds() - cpu_s)


def _shared(one: Observer, other: Observer, groups: int) -> bool:
    shown = [len(each.generations()) for each in (one, other)]
    return all(shown) and sum(shown) == groups and one.ready() and other.ready()
