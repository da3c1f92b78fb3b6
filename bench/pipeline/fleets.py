"""Writes synthetic histories of any number of generations: some simulated groups, and copies of them.

The simulation of a million generations takes half an hour of CPU. Twenty copies of fifty thousand generations under
other names take a minute. Every stage treats a copy as a separate group, but the times of the groups are more similar
than in reality.
"""

from __future__ import annotations

import gzip
import time
from dataclasses import dataclass
from pathlib import Path

from bench.measure import say
from rebalance_agent.testing.synthetic.event_files import synthesize
from rebalance_agent.testing.synthetic.fleet_plan import MONDAY_MS, FleetPlan

DAYS = 28
PER_GROUP_DAY = 9
"""Generations of a synthetic group in a day, on average."""

PLAYED_MAX = 200
"""Maximum number of simulated groups. Over all days, they have about 50,000 generations and 150,000 events."""

_WEEK_MS = 7 * 86_400_000


@dataclass(frozen=True, slots=True)
class Written:
    """Numbers of groups, generations and events (lines) in the files; each revision of an event counts."""

    groups: int
    generations: int
    lines: int

    def __str__(self) -> str:
        return f"{self.lines:,} events, {self.generations:,} generations of {self.groups:,} groups"


def write_fleet(folder: Path, generations: int, days: int = DAYS) -> Written:
    """Write files with the events of about ``generations`` generations over ``days`` days, all before this week."""
    groups = max(6, round(generations / PER_GROUP_DAY / days))
    copies = max(1, round(groups / PLAYED_MAX))
    played = min(PLAYED_MAX, round(groups / copies))
    say(f"playing {played} groups over {days} days")
    once = folder.with_name(f"{folder.name}-played")
    made = synthesize(FleetPlan(played, days, seed=7, since_ms=lately_ms(days)), once, 2, lambda _: None)
    say(f"copying them {copies} times")
    copy_groups(once, folder, copies)
    return Written(played * copies, made.generations * copies, made.events * copies)


def lately_ms(days: int) -> int:
    """Return the last Monday from which ``days`` days end before this week: baselines use only the last weeks."""
    return MONDAY_MS + (int(time.time() * 1000) - MONDAY_MS) // _WEEK_MS * _WEEK_MS - -(-days // 7) * _WEEK_MS


def copy_groups(once: Path, folder: Path, copies: int) -> None:
    """Copy all groups of the files in ``once`` to ``folder``, ``copies`` times, each time with other names."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(once.glob("events-*.gz")):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        for copy in range(copies):
            mark = b"c%04d-" % copy
            with gzip.open(folder / f"events-{copy:04}-{path.name}", "wb", 1) as out:
                out.writelines(_renamed(line, mark) for line in lines)


def _renamed(line: bytes, mark: bytes) -> bytes:
    for name in (b'"event_id":"', b'"group":"'):
        line = line.replace(name, name + mark, 1)
    return line
