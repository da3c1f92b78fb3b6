"""Alerts stay correct with several replicas per group, and with equal group names in several clusters."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import yaml
from alerts.pack import ALERTS
from alerts.values import load

from rebalance_agent.metrics.catalogue import BY_NAME
from rebalance_agent.metrics.metric import MetricType
from support.charts.promtool import PROMTOOL, Run, read_cases, rule_file, run

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")

VALUES = load()
CASES = read_cases()
REPLICAS = 4
"""Enough replicas that one's share of a single rebalance rounds to zero."""

NAMES = [alert.name for alert in ALERTS if alert.name != "RebalanceAgentDown"]
"""The omitted alert is about clusters without any remaining series."""


def row(name):
    """The catalogue's row of a series' name."""
    return BY_NAME.get(name) or BY_NAME[re.sub(r"_(bucket|sum|count)$", "", name)]


def labelled(series, **labels):
    """A series with other label values; the function gets the current value ("" if absent)."""
    name, _, rest = series.partition("{")
    given = dict(re.findall(r'(\w+)="([^"]*)"', rest))
    given |= {label: another(given.get(label, "")) for label, another in labels.items()}
    inside = ", ".join(f'{label}="{value}"' for label, value in given.items())
    return f"{name}{{{inside}}}"


def shared(values):
    """One replica's share in promtool's notation: ``0+1x5 2`` of ``0+4x5 8``; the number after x is a repeat count."""
    return re.sub(r"(?<![x\d.])\d+(?:\.\d+)?", lambda found: f"{float(found[0]) / REPLICAS:g}", values)


def elsewhere(cluster):
    """The name of the other cluster, also for a cluster without a name."""
    return f"{cluster}-too"


def replicated(case):
    """The case as replicas export it: each has the gauges and its share of the counters; everything is in two clusters.
    An agent's own series exist only once.
    """
    reported = {}
    for series, values in case.series.items():
        if not case.alert.startswith("KafkaGroup"):
            reported[series] = values
            continue
        counted = row(series.partition("{")[0]).kind in (MetricType.COUNTER, MetricType.HISTOGRAM)
        for number in range(REPLICAS):
            one = labelled(series, instance=lambda instance, number=number: f"{instance}-{number}")
            reported[one] = shared(values) if counted else values
    reported |= {labelled(series, cluster=elsewhere): values for series, values in reported.items()}
    expect = {time: [copy for each in firing for copy in (each, moved(each))] for time, firing in case.expect.items()}
    return replace(case, series=reported, expect=expect)


def moved(firing):
    """The firing alerts in the other cluster."""
    cluster = firing["labels"].get("cluster", "")
    url = firing["dashboard_url"].replace(f"var-cluster={cluster}&", f"var-cluster={elsewhere(cluster)}&")
    return firing | {"labels": firing["labels"] | {"cluster": elsewhere(cluster)}, "dashboard_url": url}


REPLICATED = {name: [replicated(case) for case in CASES[name]] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_replicas_and_a_second_cluster_make_no_difference(name, tmp_path):
    assert run([Run(name, rule_file(VALUES, name), REPLICATED[name])], tmp_path) == {name: ""}


OTHERWISE = (("max by", "sum by"), ("min by", "sum by"), ("sum by", "max by"), ("(cluster, ", "("))
SAME = (re.compile(r"\b0 \* $"), re.compile(r"^max by \([^)]*\) \([^()]*\)\s*> 0(?!\.)"))
"""Text before an aggregation, or from it on, where a sum is as good: values multiplied by 0, or compared with 0."""

ALIKE = {
    "KafkaGroupRevokeCallbackSlow: sum by": "the highest bucket that is not empty is the same for a part of the series",
}
"""Alert and aggregation that may be replaced, with the reason."""


def mutants():
    """Each rule with one aggregation changed: (alert: aggregation, position, rules)."""
    for name in NAMES:
        rules, otherwise = rule_file(VALUES, name), OTHERWISE if name.startswith("KafkaGroup") else OTHERWISE[-1:]
        for at, each in enumerate(yaml.safe_load(rules)["groups"][0]["rules"]):
            for was, other in otherwise:
                for found in re.finditer(re.escape(was), each["expr"]):
                    before, after = each["expr"][: found.start()], each["expr"][found.end() :]
                    if SAME[0].search(before) or SAME[1].search(found[0] + after):
                        continue
                    loaded = yaml.safe_load(rules)
                    loaded["groups"][0]["rules"][at]["expr"] = before + other + after
                    yield f"{name}: {was}", f"{at}, {found.start()}", yaml.safe_dump(loaded)


def test_no_other_aggregation_passes_the_cases(tmp_path):
    runs = [Run(f"{what} at {where}", rules, REPLICATED[what.partition(":")[0]]) for what, where, rules in mutants()]
    survivors = [what for what, objections in run(runs, tmp_path).items() if not objections]
    assert sorted(what.partition(" at ")[0] for what in survivors) == sorted(ALIKE), survivors
    assert len(runs) > 75
