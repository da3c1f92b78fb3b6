"""Measures the time from the end of one of two replicas until the other one shows all 2,000 groups exactly.

Each replica owns half of the groups. One replica is killed (SIGKILL): after the session timeout, the other replica
takes over its partitions and continues from their snapshots. The same is measured for a replica that is stopped
(SIGTERM), which hands over its partitions.
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
"""Seconds within which each replica has written snapshots, which it does every five seconds."""

ASKED_EVERY_S = 0.2

GROUPS_LEAST = 20
"""Minimum number of groups. With fewer groups, one replica may own all of them."""


class TakenOver(NamedTuple):
    """Seconds from the end of a replica until the other one shows all groups, and the CPU seconds of the other one."""

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
    """Return the figures that grow with the number of groups."""
    groups = max(GROUPS_LEAST, round(GROUPS * scale))
    with compacted(groups) as kafka:
        found = {end: taken_over(kafka.bootstrap_servers, groups, end) for end in ENDS}
    return {f"takeover from a {end} replica, s": each.seconds for end, each in found.items()}


def taken_over(bootstrap: str, groups: int, end: str) -> TakenOver:
    """Run two replicas, end one, and wait until the other one shows all groups."""
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
