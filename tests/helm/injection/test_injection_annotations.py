"""Annotations that take effect on pods (`injection.annotations`): by default not image, secrets, brokers and topic."""

import pytest
import yaml

from support.helm.injecting import IMAGE, SETTINGS, annotated, injecting, pod, sidecar
from support.helm.rendered import CHART
from support.observer.observing import eventually

COUNTING = yaml.safe_load((CHART / "values.yaml").read_text())["injection"]["annotations"]

WELL_FORMED = {
    "image": "registry.example/hostile:1",
    "image-pull-policy": "Always",
    "image-pull-secret": "pull",
    "bootstrap-servers": "hostile:9092",
    "security-protocol": "SASL_PLAINTEXT",
    "sasl-mechanism": "PLAIN",
    "sasl-username": "admin",
    "events-topic": "payments",
    "kafka-user-secret": "other",
    "kafka-ca-secret": "other",
    "env-from-config-map": "other",
    "env-from-secret": "other",
}
"""Annotations without effect by default."""


@pytest.fixture(scope="module")
def release(api_server):
    with injecting(api_server, "injection.parameters.kafka-user-secret=orders") as release:
        yield release


def test_each_annotation_takes_effect_by_default_or_is_tested_here():
    assert sorted([*COUNTING, *WELL_FORMED]) == sorted(SETTINGS)


@pytest.mark.parametrize(("name", "value"), WELL_FORMED.items())
def test_an_annotation_without_effect_changes_no_pod_and_is_reported(release, namespace, plain, name, value):
    manifest = annotated(**{name: value})
    assert release.admitted(namespace, manifest)["spec"] == plain
    ignored = (
        "of a pod is ignored, because injection.annotations of the chart does not contain it: set it on the namespace "
        "instead"
    )
    assert release.warnings(namespace, manifest) == [f"rebalance-agent/{name} {ignored}"]


def test_all_annotations_without_effect_together_change_no_pod(release, namespace, plain):
    assert release.admitted(namespace, annotated(**WELL_FORMED))["spec"] == plain


def test_an_allowed_annotation_is_used_without_a_warning(release, namespace, plain):
    manifest = annotated(memory_limit="300Mi")
    assert sidecar(release.admitted(namespace, manifest))["resources"]["limits"]["memory"] == "300Mi"
    assert release.warnings(namespace, manifest) == []


def test_a_namespace_may_have_all_annotations(release):
    namespace = release.namespace()
    image = "mirror.example/rebalance-agent:1"
    release.server.kubectl("annotate", "namespace", namespace, f"rebalance-agent/image={image}")
    eventually(
        lambda: sidecar(release.admitted(namespace, pod()))["image"] == image, waiting_for="the namespace's annotation"
    )
    assert sidecar(release.admitted(namespace, annotated(image="registry.example/hostile:1")))["image"] == image


def test_a_release_may_allow_other_annotations_or_none(api_server):
    with injecting(api_server, "injection.annotations={image}") as release:
        namespace, manifest = release.namespace(), annotated(image="mirror.example/a:1", log_level="debug")
        made = sidecar(release.admitted(namespace, manifest))
        assert (made["image"], "REBALANCE_AGENT_LOG_LEVEL" in str(made["env"])) == ("mirror.example/a:1", False)
        (only,) = release.warnings(namespace, manifest)
        assert only.startswith("rebalance-agent/log-level of a pod is ignored")
    with injecting(api_server, "injection.annotations=[]") as release:
        namespace = release.namespace()
        assert sidecar(release.admitted(namespace, annotated(image="mirror.example/a:1")))["image"] == IMAGE
