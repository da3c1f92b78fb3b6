"""One release per Kafka cluster, in one Kubernetes cluster and for one Prometheus, as the chart's README documents."""

from __future__ import annotations

import json

import pytest

from support.helm.chart import EVERYTHING, helm, one
from support.helm.rendered import CHART, objects

ONCE = ("monitoring.prometheusRule.enabled=false", "monitoring.dashboards.enabled=false")
"""Values of all releases except one."""


def release(name, namespace, *chosen):
    usual = (
        f"kafka.bootstrapServers={name}:9092",
        f"clusterName={name}",
        "injection.apiVersion=admissionregistration.k8s.io/v1beta1",
        "injection.enabled=true",
        f"injection.label={name}",
        "monitoring.enabled=true",
    )
    flags = [f"--set={each}" for each in (*usual, *chosen)]
    return helm("template", name, CHART, "--namespace", namespace, *EVERYTHING, *flags)


def identities(text):
    return {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in objects(text)}


def selected(kind, text, *path):
    found = one(kind, text)["spec"]
    for each in path:
        found = found[each]
    return json.dumps(found, sort_keys=True)


@pytest.mark.parametrize("namespaces", [("kafka", "kafka"), ("east", "west")])
def test_two_releases_share_no_object_and_select_nothing_of_each_other(namespaces):
    first, second = namespaces
    east, west = release("east", first), release("west", second, *ONCE)
    assert not identities(east) & identities(west)
    kinds = [each["kind"] for text in (east, west) for each in objects(text)]
    assert kinds.count("PrometheusRule") == 1
    assert sum(each["kind"] == "ConfigMap" and "board" in each["metadata"]["name"] for each in objects(west)) == 0
    for kind, *path in (
        ("Deployment", "selector"),
        ("Service", "selector"),
        ("ServiceMonitor", "selector"),
        ("PodMonitor", "selector"),
        ("MutatingAdmissionPolicy", "matchConstraints", "objectSelector"),
    ):
        assert selected(kind, east, *path) != selected(kind, west, *path), kind


def test_releases_with_one_name_in_two_namespaces_inject_independently():
    cluster_wide = [
        {identity for identity in identities(release("main", namespace)) if identity[1] is None}
        for namespace in ("east", "west")
    ]
    assert all(cluster_wide)
    assert not cluster_wide[0] & cluster_wide[1]
