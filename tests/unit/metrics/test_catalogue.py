import importlib
import pkgutil
import re

from rebalance_agent import metrics
from rebalance_agent.metrics.catalogue import BY_NAME, CATALOGUE
from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType

PREFIXES = {
    ExporterRole.OBSERVER: "kafka_rebalance_",
    ExporterRole.SIDECAR: "kafka_rebalance_member_",
    ExporterRole.GATEWAY: "rebalance_agent_gateway_",
    ExporterRole.AGENT: "rebalance_agent_",
}
CLIENTS = "kafka_rebalance_member_client_"
"""Metrics that a gateway exports about the clients behind it."""
SHARES = "kafka_rebalance_share_"
"""Metrics that a gateway exports about the share groups behind it."""


def test_every_defined_metric_is_in_the_catalogue():
    modules = [
        importlib.import_module(each.name) for each in pkgutil.iter_modules(metrics.__path__, metrics.__name__ + ".")
    ]
    defined = {value.name for module in modules for value in vars(module).values() if isinstance(value, Metric)}
    assert defined == set(BY_NAME)


def test_every_name_exists_once():
    assert len(BY_NAME) == len(CATALOGUE)


def test_a_metrics_name_contains_its_role_and_type():
    for metric in CATALOGUE:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name), metric.name
        prefixes = (PREFIXES[metric.role], *((CLIENTS, SHARES) if metric.role is ExporterRole.GATEWAY else ()))
        assert metric.name.startswith((*prefixes, PREFIXES[ExporterRole.AGENT])), metric.name
        assert metric.name.endswith("_total") == (metric.kind is MetricType.COUNTER), metric.name
        assert metric.name.endswith("_info") == (metric.kind is MetricType.INFO), metric.name


def test_only_a_sidecar_has_metrics_of_members_and_only_a_gateway_of_their_clients():
    for metric in CATALOGUE:
        if metric.name.startswith(PREFIXES[ExporterRole.SIDECAR]):
            role = ExporterRole.GATEWAY if metric.name.startswith(CLIENTS) else ExporterRole.SIDECAR
            assert metric.role is role, metric.name


def test_the_unit_is_in_the_name():
    for metric in CATALOGUE:
        if metric.unit in ("seconds", "bytes", "ratio"):
            assert metric.name.removesuffix("_total").endswith(metric.unit), metric.name


def test_only_histograms_have_buckets_in_ascending_order():
    for metric in CATALOGUE:
        assert bool(metric.buckets) == (metric.kind is MetricType.HISTOGRAM), metric.name
        assert list(metric.buckets) == sorted(set(metric.buckets)), metric.name


def test_labels_are_bounded_by_kind():
    for metric in CATALOGUE:
        forbidden = {"member_id", "generation", "quantile", "le", "cluster"}
        assert not forbidden & set(metric.labels), metric.name
        assert set(metric.values) <= set(metric.labels), metric.name
        assert all(values for values in metric.values.values()), metric.name


def test_help_is_one_sentence_in_one_line():
    for metric in CATALOGUE:
        assert metric.help.endswith("."), metric.name
        assert "\n" not in metric.help, metric.name
