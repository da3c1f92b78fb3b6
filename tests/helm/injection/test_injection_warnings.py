"""Warnings for wrong requests of a sidecar by pods, workloads or namespaces; the pods are created anyway."""

import copy

import pytest

from support.cluster.control_plane import RefusedError
from support.helm.injecting import EVERY_ANNOTATION, INJECT, SETTINGS, annotated, container, injecting, pod, sidecar

MALFORMED = ["", " ", "a\nb", "ä", "x" * 5000, "a b:"]
"""Malformed annotations."""

MALFORMED_OF = {
    "image": ["Image:Tag with spaces", "-a"],
    "image-pull-policy": ["always"],
    "bootstrap-servers": ["kafka", "kafka:port", "kafka:99999", "kafka:9092;other:9092", "kafka:9092,"],
    "security-protocol": ["ssl", "TLS"],
    "sasl-mechanism": ["SCRAM", "GSSAPI"],
    "kafka-user-secret": ["Orders", "a_b", "other/secret", "../secret", "a" * 254],
    "kafka-ca-secret": ["a-"],
    "gateway-groups": ["orders", "orders=", "orders=sticky;", "orders=sticky,weight=1"],
    "log-level": ["INFO", "trace"],
    "cpu-request": ["lots", "-1", "1e3", "0x1", "1.2345", "1000000000m", "0.5m", "1Gi", "."],
    "memory-limit": ["lots", "64", "64M", "-1Mi", "1.5Gi", "99999999Gi"],
    "run-as-user": ["0", "00", "-1", "nobody", "2147483648", "1.0", "1337", "2102"],
}


@pytest.fixture(scope="module")
def release(api_server):
    with injecting(api_server, EVERY_ANNOTATION) as release:
        yield release


@pytest.mark.parametrize("value", MALFORMED)
def test_malformed_annotations_are_reported_and_do_not_block_the_pod(release, namespace, plain, value):
    manifest = annotated(**dict.fromkeys(SETTINGS, value))
    assert release.admitted(namespace, manifest)["spec"] == plain
    reported = "; ".join(f"rebalance-agent/{name} must be {SETTINGS[name]['be']}" for name in sorted(SETTINGS))
    assert release.warnings(namespace, manifest) == [f"{reported}; wrong values are ignored"]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in MALFORMED_OF for value in MALFORMED_OF[name]])
def test_almost_valid_annotations_are_reported(release, namespace, plain, name, value):
    manifest = annotated(**{name: value})
    assert release.admitted(namespace, manifest)["spec"] == plain
    reported = f"rebalance-agent/{name} must be {SETTINGS[name]['be']}; wrong values are ignored"
    assert release.warnings(namespace, manifest) == [reported]


def test_a_limit_below_its_request_is_reported(release, namespace):
    said = "rebalance-agent/cpu-limit is below rebalance-agent/cpu-request, and is ignored"
    assert release.warnings(namespace, annotated(cpu_limit="5m", cpu_request="10m")) == [said]
    assert release.warnings(namespace, annotated(cpu_limit="10m", cpu_request="10m")) == []


KNOWN = ", ".join(sorted(SETTINGS))


def test_an_unknown_annotation_is_reported_with_all_known_ones(release, namespace):
    said = release.warnings(namespace, annotated(bootstrap_server="kafka:9092"))
    assert said == [f"no such annotation: rebalance-agent/bootstrap-server; valid annotations: {KNOWN}"]


def test_the_label_used_as_an_annotation_is_reported(release, namespace):
    first, second = release.warnings(namespace, pod(labels={}, annotations={INJECT: "true"}))
    assert first.startswith("no such annotation: rebalance-agent/inject (rebalance-agent/inject is a label); valid")
    assert second.startswith("the annotations rebalance-agent/... have no effect without the label rebalance-agent/inj")


def test_a_misspelt_label_is_reported(release, namespace):
    said = "a pod with the label rebalance-agent/inject: Yes is not injected; the label must be true"
    assert release.warnings(namespace, pod(labels={INJECT: "Yes"})) == [said]
    assert release.warnings(namespace, pod(labels={INJECT: "false"})) == []


REFUSED = {
    "a pod with hostNetwork is not injected": {"hostNetwork": True},
    "a Windows pod is not injected": {"nodeSelector": {"kubernetes.io/os": "windows"}},
    "a pod is not injected if one of its containers uses a port of the sidecar": {
        "containers": [container(ports=[{"containerPort": 29308}])]
    },
}


@pytest.mark.parametrize(("said", "spec"), REFUSED.items(), ids=REFUSED)
def test_the_reason_for_an_omitted_injection_is_reported(release, said, spec):
    namespace = release.namespace(profile="privileged")
    (only,) = release.warnings(namespace, pod(**spec) if "containers" not in spec else pod(*spec["containers"]))
    assert only.startswith(said)


def test_a_pod_without_a_request_gets_no_warning(release, namespace):
    assert release.warnings(namespace, pod(labels={})) == []


def workloads():
    template = annotated(log_level="loud")
    template = {"metadata": {**template["metadata"], "name": ""}, "spec": template["spec"]}
    template["metadata"]["labels"]["app"] = "a"
    once = copy.deepcopy(template)
    once["spec"]["restartPolicy"] = "Never"
    selector = {"matchLabels": {"app": "a"}}
    specs = {
        "apps/v1 Deployment": {"selector": selector, "template": template},
        "apps/v1 StatefulSet": {"selector": selector, "template": template, "serviceName": "a"},
        "apps/v1 DaemonSet": {"selector": selector, "template": template},
        "batch/v1 Job": {"template": once},
        "batch/v1 CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": once}}},
    }
    for name, spec in specs.items():
        api, kind = name.split()
        yield {"apiVersion": api, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize("workload", list(workloads()), ids=lambda each: each["kind"])
def test_warnings_of_pods_are_shown_to_the_user_that_creates_their_workload(release, namespace, workload):
    assert release.warnings(namespace, workload) == [
        "rebalance-agent/log-level must be debug, info, warning or error; wrong values are ignored"
    ]


def test_wrong_annotations_of_a_namespace_are_reported(release):
    annotations = {"rebalance-agent/log-level": "loud", "rebalance-agent/loglevel": "debug"}
    metadata = {"name": "another", "labels": {INJECT: "true", **release.selector}, "annotations": annotations}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    unknown, malformed, label = release.warnings("", namespace)
    assert unknown.startswith("no such annotation: rebalance-agent/loglevel; valid annotations: ")
    assert malformed.startswith("rebalance-agent/log-level must be debug, info, warning or error")
    assert label == "the label rebalance-agent/inject has no effect on a namespace; set it on the pods"
    metadata["labels"] = release.selector
    metadata["annotations"] = {"rebalance-agent/log-level": "debug"}
    assert release.warnings("", namespace) == []


def test_two_releases_select_by_label_and_one_may_reject(api_server):
    strict = ("injection.label=strict", "injection.badAnnotations=Deny")
    with injecting(api_server, *strict, labels={INJECT: "strict"}) as release:
        namespace = release.namespace()
        assert sidecar(release.admitted(namespace, pod(labels={INJECT: "strict"})))
        assert sidecar(release.admitted(namespace, pod(labels={INJECT: "other"}))) is None
        wrong = pod(labels={INJECT: "strict"}, annotations={"rebalance-agent/log-level": "loud"})
        with pytest.raises(RefusedError, match="rebalance-agent/log-level must be debug, info, warning or error"):
            release.admitted(namespace, wrong)
        with pytest.raises(RefusedError, match="the label must be strict"):
            release.admitted(namespace, pod(labels={INJECT: "true"}))
