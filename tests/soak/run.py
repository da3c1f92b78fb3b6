"""``make soak``: measures whether the observer grows while groups churn on a real broker for hours.

``make soak ARGS="--hours 2 --groups 2000 --report soak.html"``. Exit code 1 when memory, descriptors, threads,
the time or size of a scrape, or the share of a core certainly grow. First the bounded history of each group is filled
quickly, because until then memory grows as designed.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from bench.observer.attack import ATTACKS, attacked  # noqa: E402
from bench.observer.observing import PATIENCE_S, STOP_S, observer  # noqa: E402
from bench.synthetic import offsets_broker  # noqa: E402

from rebalance_agent.api.history import HistoryLimits  # noqa: E402
from rebalance_agent.clock import SystemClock  # noqa: E402
from rebalance_agent.metrics.agent_rows import TAIL_LAG  # noqa: E402
from soak.churn import Churn  # noqa: E402
from soak.page import soak_page, verdict  # noqa: E402
from soak.samples import MEASURES, Sample, sampled  # noqa: E402
from soak.slopes import fitted  # noqa: E402

WARM = 0.1
"""Share of the time before samples count: the observer first processes the groups written at once."""

FILLED_MAX = 25_000
"""Rebalances that fill the history of any number of groups: it is bounded in bytes."""

HURRIED_RATE = 300.0

SAMPLES = 240
"""Samples over the whole time, at intervals of at least `EVERY_MIN_S`."""

EVERY_MIN_S = 2.0

INTERRUPTED = 128 + signal.SIGINT

HOURS_MIN = 0.01
"""Minimum number of hours: a shorter run has too few samples for a slope."""


def main() -> int:
    """Run the soak, and judge it; return the exit code."""
    parser = argparse.ArgumentParser(
        "make soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=2.0, help="how long it is looked at (default 2)")
    parser.add_argument("--groups", type=int, default=2_000, help="that churn (default 2000)")
    parser.add_argument(
        "--rate", type=float, default=20.0, help="rebalances a second of all groups together (default 20)"
    )
    parser.add_argument("--seed", type=int, default=1, help="what the groups do follows from it (default 1)")
    parser.add_argument(
        "--attack",
        action="append",
        choices=ATTACKS,
        default=[],
        metavar="KIND",
        help=f"a hostile tenant beside them; repeatable: {', '.join(ATTACKS)}",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the curves there, as an HTML page")
    options = parser.parse_args()
    if options.hours < HOURS_MIN or options.groups < 1 or options.rate <= 0:
        parser.error(f"--hours must be {HOURS_MIN} at least, --groups 1, and --rate more than 0")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        samples, rebalances, ended = _soaked(options)
    except KeyboardInterrupt:
        print("soak: interrupted")
        return INTERRUPTED
    counted = [each for each in samples if each.hours >= WARM * options.hours] or samples
    hours = [each.hours for each in counted]
    slopes = [fitted(hours, [getattr(each, measure.name) for each in counted]) for measure in MEASURES]
    summary = (
        f"{options.groups:,} groups, {rebalances:,} rebalances in {samples[-1].hours:.2f} h, seed {options.seed}"
        f"{''.join(f', attack {kind}' for kind in options.attack)}; "
        f"{len(counted)} samples after the first {WARM:.0%} of the time"
    )
    if not ended:
        summary += f". The observer did not end within {STOP_S:.0f} s of being asked to"
    print(summary)
    for measure, slope in zip(MEASURES, slopes, strict=True):
        print(verdict(measure, slope))
    if options.report:
        options.report.write_text(soak_page(counted, slopes, summary), encoding="utf-8")
    return not ended or any(slope.grows(measure.allowed) for measure, slope in zip(MEASURES, slopes, strict=True))


def _soaked(options: argparse.Namespace) -> tuple[list[Sample], int, bool]:
    """The samples, the number of rebalances in that time, and whether the observer ended on SIGTERM."""
    samples: list[Sample] = []
    rebalances = 0
    try:
        for sample, so_far in _observed(options):
            samples.append(sample)
            rebalances = so_far
    except subprocess.TimeoutExpired:  # report the samples so far
        return samples, rebalances, False
    return samples, rebalances, True


def _observed(options: argparse.Namespace) -> Iterator[tuple[Sample, int]]:
    """Yield samples over time, each with the number of rebalances since the first."""
    hours, groups = options.hours, options.groups
    clock, quiet = SystemClock(), threading.Event()
    every_s = max(EVERY_MIN_S, hours * 3600 / SAMPLES)
    with offsets_broker() as (kafka, _), contextlib.ExitStack() as stack:
        churn = Churn(kafka.bootstrap_servers, groups, options.rate, options.seed, clock)
        churn.populate()
        watching = stack.enter_context(observer(kafka.bootstrap_servers, "--log-level", "warning"))
        watching.wait(lambda: watching.shown() >= groups and watching.ready(), PATIENCE_S, 0.5)
        churn.hurry(min(FILLED_MAX, groups * HistoryLimits().rebalances), HURRIED_RATE)
        watching.wait(lambda: watching.value(TAIL_LAG.name) == 0, PATIENCE_S, 1.0)
        churn.start()
        stack.callback(churn.stop)
        begun, hurried = clock.monotonic(), churn.rebalances
        before = begun, watching.cpu_seconds()
        with attacked(kafka.bootstrap_servers, options.attack, options.seed):
            while clock.monotonic() - begun < hours * 3600:
                quiet.wait(every_s)
                if watching.process.poll() is not None:
                    raise SystemExit(f"the observer ended with {watching.process.returncode}")
                if not churn.running:
                    raise SystemExit("nothing churns any more")
                yield sampled(watching, clock, begun, before), churn.rebalances - hurried
                before = clock.monotonic(), watching.cpu_seconds()
        churn.stop()
        group, number = churn.last()
        # An observer that stopped reading would not grow either.
        watching.wait(lambda: watching.generation_of(group) == number, PATIENCE_S, 1.0)


if __name__ == "__main__":
    sys.exit(main())
