"""The test API server rejects the same objects as a cluster; the other tests depend on this."""

import json

import pytest

from support.cluster.control_plane import RefusedError

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod"},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "one",
                "image": "image",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}


def changed(manifest, path, value):
    """A copy with one value set, at a path of keys and indices separated by dots."""
    copy = json.loads(json.dumps(manifest))
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place = copy
    for key in parents:
        place = place[key]
    place[last] = value
    return copy


def test_kubectl_and_server_have_the_same_version(api_server):
    versions = json.loads(api_server.kubectl("version", "--output=json"))
    assert versions["clientVersion"]["gitVersion"] == versions["serverVersion"]["gitVersion"]


def test_a_pod_with_the_strictest_profile_is_accepted(api_server, namespace):
    assert api_server.dry_run([POD], namespace) == ["pod/pod created (server dry run)"]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec.containers.0.imagine", "image", 'unknown field "spec.containers[0].imagine"'),
        ("spec.containers.0.ports", [{"containerPort": "many"}], "containerPort"),
        ("spec.restartPolicy", "Sometimes", 'Unsupported value: "Sometimes"'),
        ("spec.serviceAccountName", "nobody", 'serviceaccount "nobody" not found'),
        ("spec.securityContext", {}, 'violates PodSecurity "restricted:latest"'),
        ("spec.hostNetwork", True, "host namespaces"),
    ],
)
def test_errors_of_a_pod_are_reported(api_server, namespace, path, value, said):
    with pytest.raises(RefusedError) as error:
        api_server.dry_run([changed(POD, path, value)], namespace)
    assert said in str(error.value)


def test_workloads_whose_pods_would_not_start_cause_warnings(api_server, namespace):
    template = changed({"metadata": {"labels": {"app": "a"}}, "spec": POD["spec"]}, "spec.hostNetwork", True)
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template},
    }
    with pytest.raises(RefusedError, match="would violate PodSecurity"):
        api_server.dry_run([deployment], namespace)


def test_monitoring_resources_are_known_field_by_field(api_server, namespace):
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": "pods"},
        "spec": {"selector": {}, "podMetricsEndpoints": [{"portNumber": 1}]},
    }
    assert api_server.dry_run([monitor], namespace)
    with pytest.raises(RefusedError, match=r'unknown field "spec\.podMetricsEndpoints\[0\]\.portnumber"'):
        api_server.dry_run([changed(monitor, "spec.podMetricsEndpoints.0.portnumber", 1)], namespace)
