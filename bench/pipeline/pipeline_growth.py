"""Measures the growth of the pipeline's cost: ten times the rows, ten times the groups, ten times the members.

Each size is compared with the same base: groups of four members over a week. The exponent is 1 if the cost is
proportional to the size. The fixed cost of a run makes the exponent smaller.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import log10
from pathlib import Path

from bench.measure import say, table
from bench.pipeline.fleets import copy_groups, lately_ms
from bench.pipeline.whole_pipeline import Run
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, GroupPlan
from rebalance_agent.testing.synthetic.synthetic_history import history

GROUPS = 120
MEMBERS = 4
DAYS = 7
PLAYED = 6
"""Number of simulated groups, all of them classic, with three assignors; the other groups are copies of them."""


RARELY = 0.001
"""Rate per day of all causes but crashes, because their number of rebalances depends on the number of members."""


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of groups, members and generations."""

    groups: int
    members: int = MEMBERS
    days: int = DAYS


def main(scale: float = 1.0) -> None:
    """Run the base size and the three larger ones."""
    groups = PLAYED * max(1, round(GROUPS * scale / PLAYED))  # a whole number of copies of the simulated groups
    days = DAYS if scale >= 1 / 20 else 1
    base = Size(groups, days=days)
    sizes = {
        "base": base,
        "10 x the rows": replace(base, days=10 * days),
        "10 x the groups": replace(base, groups=10 * groups),
        "10 x the members": replace(base, members=10 * MEMBERS),
    }
    table(
        ("", "generations", "seconds", "CPU s", "of it what-if", "java MiB", "workers MiB", "exponent", "of what-if"),
        _rows(sizes),
    )


def _rows(sizes: Mapping[str, Size]) -> Iterator[tuple[object, ...]]:
    base: Run | None = None
    for name, size in sizes.items():
        say(name)
        run = _run(size)
        base = base or run
        yield _row(name, run, base)


def _run(size: Size) -> Run:
    with tempfile.TemporaryDirectory(prefix="bench-growth-") as folder:
        once, events = Path(folder) / "once", Path(folder) / "events"
        once.mkdir()
        _play(size, once)
        copy_groups(once, events, size.groups // PLAYED)
        run = Run(events, Path(folder))
        for stage in run.stages():
            say(f"{stage.name}: {stage.seconds:.1f} s, {stage.cpu:.1f} s of CPU")
        return run


def _play(size: Size, folder: Path) -> None:
    fleet = FleetPlan(PLAYED, size.days, seed=7, since_ms=lately_ms(size.days))
    for number in range(PLAYED):
        with gzip.open(folder / f"events-{number}.ndjson.gz", "wb", 1) as file:
            file.writelines(json_line(event) + b"\n" for event in history(fleet, number, plan=_plan(size, number)))


def _plan(size: Size, number: int) -> GroupPlan:
    """Return the plan of a group. Groups differ only in their assignor; the partitions per member are constant."""
    assignor = ("range", "cooperative-sticky", "roundrobin")[number % 3]
    return GroupPlan(
        number,
        f"group-{number}",
        GroupType.CLASSIC,
        assignor,
        {"orders": 8 * size.members},
        size.members,
        deploys_per_day=RARELY,
        growths_per_day=RARELY,
        storms_per_day=RARELY,
        crash_loops_per_day=RARELY,
        crashes_per_day=4,
    )


def _row(name: str, run: Run, base: Run) -> tuple[object, ...]:
    (whole, whatif), (whole_of_base, whatif_of_base) = ((each.whole(), each.whole("what if")) for each in (run, base))
    return (
        name,
        run.summary["generations"],
        whole.seconds,
        whole.cpu,
        whatif.cpu,
        whole.java,
        whole.workers,
        log10(whole.cpu / whole_of_base.cpu),
        log10(whatif.cpu / whatif_of_base.cpu),
    )
