import re

import pytest

from rebalance_agent.metrics.catalogue import BY_NAME, CATALOGUE
from rebalance_agent.metrics.metric import ExporterRole, MetricType

PREFIXES = {
    ExporterRole.OBSERVER: "kafka_rebalance_",
    ExporterRole.SIDECAR: "kafka_rebalance_member_",
    ExporterRole.GATEWAY: "rebalance_agent_gateway_",
    ExporterRole.AGENT: "rebalance_agent_",
}

each_metric = pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)


def test_every_name_exists_once():
    assert len(BY_NAME) == len(CATALOGUE)


@each_metric
def test_a_metrics_name_contains_its_role_and_type(metric):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
    assert metric.name.startswith((PREFIXES[metric.role], PREFIXES[ExporterRole.AGENT]))
    assert metric.name.endswith("_total") == (metric.kind is MetricType.COUNTER)
    assert metric.name.endswith("_info") == (metric.kind is MetricType.INFO)


@each_metric
def test_only_the_sidecar_speaks_of_members_own_view(metric):
    assert metric.name.startswith(PREFIXES[ExporterRole.SIDECAR]) <= (metric.role is ExporterRole.SIDECAR)


@each_metric
def test_the_unit_is_in_the_name(metric):
    if metric.unit in ("seconds", "bytes", "ratio"):
        assert metric.name.removesuffix("_total").endswith(metric.unit)


@each_metric
def test_buckets_belong_to_histograms_and_rise(metric):
    assert bool(metric.buckets) == (metric.kind is MetricType.HISTOGRAM)
    assert list(metric.buckets) == sorted(set(metric.buckets))


@each_metric
def test_labels_are_bounded_by_kind(metric):
    forbidden = {"member_id", "generation", "quantile", "le", "cluster"}
    assert not forbidden & set(metric.labels)
    assert set(metric.values) <= set(metric.labels)
    assert all(values for values in metric.values.values())


@each_metric
def test_help_is_one_sentence_line(metric):
    assert metric.help.endswith(".")
    assert "\n" not in metric.help
