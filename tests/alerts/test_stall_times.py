"""The time until a stalled group fires, by length of the stall, scrape interval, and reports of members.

The series are those that a tracker exports, and promtool evaluates the rules. ``docs/alerts.md`` has the table:
``REBALANCE_AGENT_GOLDEN=write pytest tests/alerts/test_stall_times.py`` writes it, then ``make alerts``.
"""

from __future__ import annotations

import json
import math
import os
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from alerts.values import load, seconds

from rebalance_agent.tracking.patterns.group_stalls import StallLimits
from rebalance_agent.tracking.views import COUNTED_LATE_MS
from support.charts.promtool import PROMTOOL, Case, Run, rule_file, run, silenced, unworded
from support.charts.stall_series import GROUP, POLL_MS, StallCase, name_of, notation, scraped

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")

VALUES = load()
FILE = Path(__file__).parents[2] / "alerts" / "stall_times.json"

LENGTHS = (5, 15, 30, 45, 60, 90, 120, 180, 300)
SCRAPES = (15, 30, 60)
PHASES = (120.5, 127, 136, 149, 151, 164, 179)
"""Starts of the stall: at different times between two scrapes and between two evaluations."""

UNTIL = 960
EVALUATED = round(seconds(str(VALUES.shared["interval"])))
WINDOW = 300
SLOW = "KafkaGroupRebalanceSlow"
LIMITS = {
    "KafkaGroupStalled": StallLimits().warning_seconds,
    "KafkaGroupStalledLong": StallLimits().critical_seconds,
}
COUNTED = "kafka_rebalance_group_stalled_seconds_total"
LATE = (COUNTED_LATE_MS + POLL_MS) / 1000
"""Delay between a certain stall and its count: until the next poll shows it, and late records have been read."""
SETTLED = 6.0
"""Delay between the end of a stall that exceeds the limit by less than `LATE`, and its count."""


@cache
def finest(case, began, length):
    return scraped(case, began, length, SCRAPES[0], UNTIL)


def case_series(case, began, length, scrape):
    """Series -> values at each scrape."""
    return {labels: values[:: scrape // SCRAPES[0]] for labels, values in finest(case, began, length).items()}


def firing(alert, series, scrape):
    """The first and last evaluation at which the alert must fire, or None, computed from the rule and these series."""
    if alert == SLOW:
        values = series[("kafka_rebalance_in_progress_seconds",)]
        limit, wait = VALUES.alerts[SLOW]["seconds"], seconds(VALUES.alerts[SLOW]["for"])
        above = [at for at in range(0, UNTIL, EVALUATED) if (values[at // scrape] or 0) > limit]
        fires = [at for at in above if at - above[0] >= wait]
        return (fires[0], fires[-1]) if fires else None
    limit = {"KafkaGroupStalled": "warning", "KafkaGroupStalledLong": "critical"}[alert]
    values = series[(COUNTED, limit)]
    rises = [at * scrape for at, (before, after) in enumerate(pairwise(values), 1) if (after or 0) > (before or 0)]
    if not rises:
        return None
    return evaluation(rises[0]), evaluation(rises[-1] - scrape + WINDOW) - EVALUATED


def evaluation(at):
    """The first evaluation from ``at`` on."""
    return math.ceil(at / EVALUATED) * EVALUATED


def case_of(alert, case, began, length, scrape):
    """The case for promtool, and the seconds after which the alert must fire."""
    series = case_series(case, began, length, scrape)
    fires = firing(alert, series, scrape)
    expect = {f"{at}s": [] for at in range(120, UNTIL, EVALUATED) if not fires or at < fires[0]}
    if fires:
        labels = {"labels": {"consumergroup": GROUP}, "severity": str(VALUES.alerts[alert]["severity"])}
        expect |= {f"{at}s": [labels] for at in range(fires[0], fires[1] + 1, EVALUATED)}
        expect[f"{fires[1] + 2 * EVALUATED}s"] = []
    wanted = {name_of(labels): notation(values) for labels, values in series.items()}
    name = f"{case.name} {length} s, scraped every {scrape} s, from {began}"
    case = Case(alert, name, f"{EVALUATED}s", f"{scrape}s", wanted, expect)
    return silenced(case), fires and fires[0] - began


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """(alert, case, length, scrape) -> seconds until it fires, for each phase, confirmed by promtool."""
    found, cases = {}, {}
    for case in StallCase:
        for alert in (*LIMITS, SLOW):
            for length in LENGTHS:
                for scrape in SCRAPES:
                    made = [case_of(alert, case, began, length, scrape) for began in PHASES]
                    found[alert, case, length, scrape] = [after for _, after in made]
                    cases.setdefault(alert, []).extend(case for case, _ in made)
    runs = [Run(alert, unworded(rule_file(VALUES, alert)), some) for alert, some in cases.items()]
    assert run(runs, tmp_path_factory.mktemp("rules")) == dict.fromkeys(cases, "")
    return found


@pytest.mark.parametrize("case", [StallCase.SYNC, StallCase.REPORTED])
@pytest.mark.parametrize("alert", LIMITS)
def test_a_stall_that_reaches_the_limit_fires_at_most_one_scrape_and_one_evaluation_later(times, alert, case):
    limit = LIMITS[alert]
    for length in LENGTHS:
        late = LATE if length > limit + LATE else SETTLED
        for scrape in SCRAPES:
            for after in times[alert, case, length, scrape]:
                if length < limit:
                    assert after is None
                else:
                    assert limit <= after <= limit + late + scrape + EVALUATED, (length, scrape)


def test_a_stall_is_not_certain_while_members_may_still_rejoin(times):
    for length in LENGTHS:
        for scrape in SCRAPES:
            for alert in LIMITS:
                assert set(times[alert, StallCase.JOIN, length, scrape]) == {None}


def test_a_rebalance_without_certain_stalls_fires_by_its_age(times):
    for scrape in SCRAPES:
        assert None not in times[SLOW, StallCase.JOIN, 300, scrape]
        assert set(times[SLOW, StallCase.JOIN, 90, scrape]) == {None}


def test_the_table_of_the_documentation_is_current(times):
    table = [
        {
            "case": case.name,
            "length": length,
            "scrape": scrape,
            "alert": alert,
            "after": [after if after is None else round(after) for after in extremes(found)],
        }
        for (alert, case, length, scrape), found in times.items()
    ]
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        lines = ",\n".join(json.dumps(row) for row in table)
        FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    assert json.loads(FILE.read_text(encoding="utf-8")) == table


def extremes(found):
    """The earliest and the latest time; the latest is None if the alert does not fire in every phase."""
    known = [after for after in found if after is not None]
    return [min(known, default=None), max(known) if len(known) == len(found) else None]
