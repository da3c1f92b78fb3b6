"""Pods after a real API server's admission policy: with a sidecar and no other change, or unchanged."""

import json

import pytest

from support.helm.injecting import (
    ADDRESS,
    IMAGE,
    INJECT,
    MARK,
    SIDECAR,
    VERSION,
    container,
    environment,
    injecting,
    pod,
    sidecar,
    without_sidecar,
)
from support.observer.observing import eventually

OWN = {"name": "NAME", "value": "value"}
MESH = container("istio-proxy", restartPolicy="Always", ports=[{"containerPort": 15090, "name": "http-envoy"}])
DEPLOYED = {INJECT: "true", "pod-template-hash": "7f5d"}


def owner(kind, name, api="apps/v1"):
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": "a-b", "controller": True}]


TAKEN = {
    "a pod with nothing": pod(),
    "with annotations": pod(annotations={"prometheus.io/scrape": "true"}),
    "with variables": pod(container(env=[OWN])),
    "with an empty list of variables": pod(container(env=[])),
    "with several containers": pod(container(), container("other", env=[OWN]), container("third")),
    "with an init container": pod(initContainers=[container("migrate")]),
    "with the mesh's sidecar first": pod(initContainers=[MESH, container("migrate")]),
    "with the mesh's sidecar among its containers": pod(container(), container("istio-proxy")),
    "with volumes": pod(volumes=[{"name": "scratch", "emptyDir": {}}]),
    "that shares its processes": pod(shareProcessNamespace=True),
    "of a job": pod(owners=owner("Job", "nightly", "batch/v1"), restartPolicy="Never"),
    "of a deployment": pod(labels=DEPLOYED, owners=owner("ReplicaSet", "orders-7f5d")),
    "with other ports": pod(container(ports=[{"containerPort": 8080}, {"containerPort": 29092}])),
    "with limits": pod(container(resources={"limits": {"cpu": "1", "memory": "1Gi"}})),
    "with 30 containers": pod(*(container(f"c{number}", env=[OWN]) for number in range(30))),
    "with long annotations": pod(annotations={f"a{number}": "x" * 10_000 for number in range(20)}),
}

LEFT = {
    "without the label": pod(labels={}),
    "that says no": pod(labels={INJECT: "false"}),
    "that is injected": pod(annotations={MARK: "0.0.1"}),
    "with a sidecar of its own": pod(initContainers=[{**container(SIDECAR), "restartPolicy": "Always"}]),
    "with one among its containers": pod(container(), container(SIDECAR)),
    "with the sidecar's metrics port": pod(container(ports=[{"containerPort": 29308}])),
    "with the sidecar's events port": pod(container(), container("other", ports=[{"containerPort": 29309}])),
    "with an init container on it": pod(initContainers=[{**MESH, "ports": [{"containerPort": 29309}]}]),
    "with the gateway's port": pod(
        container(ports=[{"containerPort": 29092}]), annotations={"rebalance-agent/gateway-groups": "a=sticky"}
    ),
    "of Windows": pod(container(securityContext={}), os={"name": "windows"}, securityContext={}),
    "for Windows nodes": pod(nodeSelector={"kubernetes.io/os": "windows"}),
}

EXPECTED = {
    "name": SIDECAR,
    "image": IMAGE,
    "imagePullPolicy": "IfNotPresent",
    "restartPolicy": "Always",
    "args": ["sidecar", "--stay"],
    "env": [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
        {"name": "IMAGE", "value": "registry.example/consumer:7"},
        {"name": "REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS", "value": "kafka:9092"},
        {"name": "REBALANCE_AGENT_LISTEN", "value": "0.0.0.0:29308"},
    ],
    "ports": [{"name": SIDECAR, "containerPort": 29308, "protocol": "TCP"}],
    "startupProbe": {
        "exec": {"command": ["python", "-m", "rebalance_agent.runtime.startup"]},
        "periodSeconds": 1,
        "timeoutSeconds": 30,
        "failureThreshold": 10,
        "successThreshold": 1,
    },
    "resources": {"requests": {"cpu": "10m", "memory": "96Mi"}, "limits": {"memory": "256Mi"}},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
"""The complete sidecar of a pod without annotations: without a readiness probe, which would affect the pod's
readiness."""


@pytest.fixture(scope="module")
def release(api_server):
    with injecting(api_server) as release:
        yield release


@pytest.fixture(scope="module")
def namespace(release):
    """A namespace that enforces `restricted`, and in which tests store no objects."""
    return release.namespace()


def unlabelled(manifest):
    labels = {name: value for name, value in manifest["metadata"]["labels"].items() if name != INJECT}
    return {**manifest, "metadata": {**manifest["metadata"], "labels": labels}}


def alike(made):
    """A pod without its labels, which differ between tests."""
    made["metadata"].pop("labels", None)
    return made


def test_the_sidecar_satisfies_the_profile_restricted(release, namespace):
    made = release.admitted(namespace, pod())
    assert sidecar(made) == EXPECTED
    assert made["metadata"]["annotations"] == {MARK: VERSION}


@pytest.mark.parametrize("manifest", TAKEN.values(), ids=TAKEN)
def test_a_pod_gets_a_sidecar_as_first_container_and_no_other_change(release, namespace, manifest):
    as_it_was = alike(release.admitted(namespace, unlabelled(manifest)))
    made = alike(release.admitted(namespace, manifest))
    assert without_sidecar(made) == as_it_was
    assert all(ADDRESS in each["env"] for each in made["spec"]["containers"])


@pytest.mark.parametrize("manifest", LEFT.values(), ids=LEFT)
def test_pods_that_cannot_have_a_sidecar_are_not_injected(release, manifest, namespace, baseline):
    where = baseline if "indows" in json.dumps(manifest) else namespace
    made = alike(release.admitted(where, manifest))
    assert made == alike(release.admitted(where, unlabelled(manifest)))
    assert ADDRESS not in made["spec"]["containers"][0].get("env", ())


@pytest.fixture(scope="module")
def baseline(release):
    """A namespace that accepts any pod."""
    return release.namespace(profile="privileged")


def test_a_pod_with_the_host_network_is_not_injected(release, baseline):
    assert sidecar(release.admitted(baseline, pod(hostNetwork=True))) is None


def test_a_pod_that_runs_as_root_has_a_sidecar_that_does_not(release, baseline):
    made = release.admitted(baseline, pod(container(securityContext={}), securityContext={"runAsUser": 0}))
    assert sidecar(made)["securityContext"] == EXPECTED["securityContext"]


def test_the_sidecar_gets_the_service_accounts_token_like_all_containers(release, namespace):
    made = release.admitted(namespace, pod(automountServiceAccountToken=True))
    (mount,) = sidecar(made)["volumeMounts"]
    assert mount in made["spec"]["containers"][0]["volumeMounts"]
    assert "volumeMounts" not in sidecar(release.admitted(namespace, pod()))


def test_an_address_that_is_set_is_not_changed(release, namespace):
    own = {"name": ADDRESS["name"], "value": "http://127.0.0.1:1/v1/events"}
    made = release.admitted(namespace, pod(container(env=[own]), container("other")))
    assert [each["env"] for each in made["spec"]["containers"]] == [[own], [ADDRESS]]


def test_an_injected_pod_is_unchanged_when_created_again(release, namespace):
    made = release.admitted(namespace, pod())
    assert release.admitted(namespace, made) == made
    del made["metadata"]["annotations"]
    assert release.admitted(namespace, made) == made


def test_an_injected_pod_is_stored(release, api_server, namespace):
    api_server.kubectl("create", "--namespace", namespace, "--filename=-", stdin=json.dumps(pod()))
    try:
        stored = json.loads(api_server.kubectl("get", "pod", "pod", "--namespace", namespace, "--output=json"))
    finally:
        api_server.kubectl("delete", "pod", "pod", "--namespace", namespace, "--grace-period=0", "--force")
    assert sidecar(stored) == EXPECTED


@pytest.mark.parametrize(
    ("made", "workload"),
    [
        (pod(), None),
        (pod(labels=DEPLOYED, owners=owner("ReplicaSet", "orders-7f5d")), "orders"),
        (pod(owners=owner("StatefulSet", "search")), "search"),
        (pod(owners=owner("Job", "nightly", "batch/v1")), "nightly"),
        (pod(labels={INJECT: "true", "rollouts-pod-template-hash": "7f5d"}, owners=owner("ReplicaSet", "a-7f5d")), "a"),
    ],
)
def test_the_sidecar_has_its_workload_and_image(release, namespace, made, workload):
    assert environment(sidecar(release.admitted(namespace, made))).get("WORKLOAD") == workload


def test_the_image_shown_is_that_of_the_main_container(release, namespace):
    main = {"kubectl.kubernetes.io/default-container": "main"}
    made = release.admitted(namespace, pod(container("helper"), container("main"), annotations=main))
    assert environment(sidecar(made))["IMAGE"] == "registry.example/main:7"


MESHED = """
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: %(name)s}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    objectSelector: {matchLabels: {mesh: %(name)s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
    - {name: once, expression: '!object.spec.containers.exists(c, c.name == "%(name)s")'}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          [JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{
          name: "%(name)s", image: "mesh:1"}}]
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %(name)s}
spec: {policyName: %(name)s}
"""


@pytest.mark.parametrize("name", ["a-mesh", "z-mesh"])
def test_with_another_injecting_policy_there_is_one_sidecar(release, api_server, baseline, name):
    policies = MESHED % {"name": name}
    api_server.kubectl("create", "--filename=-", stdin=policies)
    try:
        meshed = pod(labels={"mesh": name})
        eventually(lambda: len(release.admitted(baseline, meshed)["spec"]["containers"]) == 2)
        made = release.admitted(baseline, pod(labels={INJECT: "true", "mesh": name}))
    finally:
        api_server.kubectl("delete", "--filename=-", stdin=policies)
    assert sidecar(made) == EXPECTED
    assert [each["name"] for each in made["spec"]["containers"]] == ["consumer", name]
    assert made["spec"]["containers"][0]["env"] == [ADDRESS]


def test_defaults_of_a_limit_range_apply_to_the_sidecar(release, api_server):
    where = release.namespace()
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}, "max": {"cpu": "4"}}]
    limited = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"}, "spec": {"limits": limits}}
    api_server.kubectl("create", "--namespace", where, "--filename=-", stdin=json.dumps(limited))

    def defaulted():
        made = release.admitted(where, pod())
        return made if made["spec"]["containers"][0].get("resources") else None

    assert sidecar(eventually(defaulted, waiting_for="the limits"))["resources"] == {
        "limits": {"cpu": "2", "memory": "256Mi"},
        "requests": {"cpu": "10m", "memory": "96Mi"},
    }
