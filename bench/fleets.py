"""Histories of as many generations as one likes: some groups that the coordinator's model played, and copies of them.

To play a million generations takes an hour of CPU, and to copy ten thousand a hundred times under other names two
minutes. A copy is a group of its own to every stage; only what the whole fleet does at once is more alike than in life.
"""

from __future__ import annotations

import gzip
import time
from pathlib import Path

from rebalance_agent.pipeline.synthesize.files import synthesize
from rebalance_agent.pipeline.synthesize.fleet import MONDAY_MS, Fleet

DAYS = 28
PER_GROUP_DAY = 9
"""Generations of a synthetic group in a day, on average."""

PLAYED_MAX = 40
"""Groups that are played: with all of their days some 10,000 generations, and 60,000 events."""

_WEEK_MS = 7 * 86_400_000


def write_fleet(folder: Path, generations: int, days: int = DAYS) -> int:
    """Write files of events of about so many generations, which end some days ago; how many groups there are."""
    groups = max(6, round(generations / PER_GROUP_DAY / days))
    played = min(groups, PLAYED_MAX)
    copies = max(1, round(groups / played))
    once = folder.with_name(f"{folder.name}-played")
    synthesize(Fleet(played, days, seed=7, since_ms=lately_ms(days)), once, 2, lambda _: None)
    copy_groups(once, folder, copies)
    return played * copies


def lately_ms(days: int) -> int:
    """The Monday on which so many days begin that end this week at the latest: baselines are of the last weeks only."""
    return MONDAY_MS + (int(time.time() * 1000) - MONDAY_MS) // _WEEK_MS * _WEEK_MS - -(-days // 7) * _WEEK_MS


def copy_groups(once: Path, folder: Path, copies: int) -> None:
    """All groups of the files in ``once`` so many times, each time under other names."""
    folder.mkdir(parents=True, exist_ok=True)
    for copy in range(copies):
        mark = b"c%04d-" % copy
        for path in sorted(once.glob("events-*.gz")):
            with gzip.open(path) as lines, gzip.open(folder / f"events-{copy:04}-{path.name}", "wb", 1) as out:
                out.writelines(_renamed(line, mark) for line in lines)


def _renamed(line: bytes, mark: bytes) -> bytes:
    for name in (b'"event_id":"', b'"group":"'):
        line = line.replace(name, name + mark, 1)
    return line
