"""The named template adds the same sidecar to other charts as the injection adds to pods."""

import copy
import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.helm.injecting import ADDRESS, EVERY_ANNOTATION, SIDECAR, injecting, sidecar
from support.helm.rendered import CHART, bare_pods, objects

ROOT = Path(__file__).parents[3]
EXAMPLE = Path("examples") / "helm" / "consumer"


@pytest.fixture(scope="module")
def example(api_server, tmp_path_factory):
    """The example with its dependency at the declared path."""
    clone = tmp_path_factory.mktemp("clone")
    shutil.copytree(CHART, clone / CHART.relative_to(ROOT))
    shutil.copytree(ROOT / EXAMPLE, clone / EXAMPLE)
    api_server.helm("dependency", "build", clone / EXAMPLE)
    return clone / EXAMPLE


@pytest.fixture(scope="module")
def release(api_server):
    with injecting(api_server, EVERY_ANNOTATION, "sidecar.settings.log_level=warning") as release:
        yield release


@pytest.fixture
def render(api_server, example):
    def rendered(*values):
        settings = [part for value in values for part in ("--set", value)]
        return objects(api_server.helm("template", "orders", example, *settings))

    return rendered


def the_pod(rendered):
    (only,) = bare_pods(rendered)
    return only


def test_the_example_renders_only_its_consumer(render):
    assert [each["kind"] for each in render()] == ["Deployment"]


def test_the_sidecar_equals_the_injected_one(release, render):
    namespace = release.namespace()
    own = the_pod(render())
    own["spec"]["automountServiceAccountToken"] = False  # the name of its volume is random
    bare = copy.deepcopy(own)
    del bare["spec"]["initContainers"]
    bare["metadata"]["annotations"] = {
        f"{SIDECAR}/workload": "orders",
        f"{SIDECAR}/bootstrap-servers": "kafka.kafka.svc:9092",
    }
    made, injected = release.admitted(namespace, own), release.admitted(namespace, bare)
    assert sidecar(made) == sidecar(injected)
    assert made["spec"]["containers"][0]["env"][-1] == ADDRESS
    assert "annotations" not in made["metadata"]


def test_its_secrets_are_mounted(release, render):
    tls = ("tls.enabled=true", "tls.ca.secretName=ca", "tls.certificate.secretName=orders")
    made = release.admitted(release.namespace(), the_pod(render(*(f"rebalance-agent.kafka.{each}" for each in tls))))
    mount = {"name": SIDECAR, "mountPath": "/etc/rebalance-agent", "readOnly": True}
    assert mount in sidecar(made)["volumeMounts"]
    (volume,) = [each for each in made["spec"]["volumes"] if each["name"] == SIDECAR]
    paths = [item["path"] for source in volume["projected"]["sources"] for item in source["secret"]["items"]]
    assert sorted(paths) == ["kafka/ca.crt", "kafka/user.crt", "kafka/user.key"]
    assert json.dumps("/etc/rebalance-agent/kafka/user.crt") in json.dumps(sidecar(made)["env"])


@contextmanager
def in_both(api_server, render, *values):
    """Two admitted pods: with the template's sidecar, and with the injected one. Both charts have these values."""
    with injecting(api_server, *values) as release:
        namespace, bare = release.namespace(), copy.deepcopy(the_pod(render()))
        del bare["spec"]["initContainers"]
        own = the_pod(render(*(f"rebalance-agent.{value}" for value in values)))
        yield release.admitted(namespace, own), release.admitted(namespace, bare)


SEATS = ("sidecar.settings.gateway_seats=.*=on",)


def test_seats_are_saved_on_a_volume_in_both(api_server, render):
    with in_both(api_server, render, *SEATS) as pods:
        for pod in pods:
            name, folder = "rebalance-agent-seats", "/var/lib/rebalance-agent"
            assert {"name": name, "emptyDir": {}} in pod["spec"]["volumes"]
            assert {"name": name, "mountPath": folder} in sidecar(pod)["volumeMounts"]
            environment = {each["name"]: each.get("value") for each in sidecar(pod)["env"]}
            assert environment["REBALANCE_AGENT_GATEWAY_SEATS_FILE"] == f"{folder}/seats"


def test_a_file_of_the_settings_needs_no_volume(render):
    made = the_pod(
        render(*(f"rebalance-agent.{each}" for each in SEATS), "rebalance-agent.sidecar.settings.gateway_seats_file=")
    )
    assert "rebalance-agent-seats" not in json.dumps(made)


SWITCH = ("sidecar.settings.gateway_seats=.*=on", "sidecar.seatsSwitchConfigMap=seats-switch")


def test_the_switch_of_seats_is_mounted_into_both_and_need_not_exist(api_server, render):
    with in_both(api_server, render, *SWITCH) as pods:
        for pod in pods:
            items = [{"key": "seats", "path": "seats/switch"}]
            source = {"configMap": {"name": "seats-switch", "optional": True, "items": items}}
            (volume,) = [each for each in pod["spec"]["volumes"] if each["name"] == SIDECAR]
            assert volume["projected"]["sources"] == [source]
            assert [each["mountPath"] for each in sidecar(pod)["volumeMounts"] if each["name"] == SIDECAR] == [
                "/etc/rebalance-agent"
            ]
            path = {each["name"]: each.get("value") for each in sidecar(pod)["env"]}[
                "REBALANCE_AGENT_GATEWAY_SEATS_SWITCH_FILE"
            ]
            assert path == "/etc/rebalance-agent/seats/switch"


READY = ("sidecar.memberReadiness=true",)


def test_the_consumer_has_the_same_readiness_probe_in_both_and_none_without_the_value(api_server, render):
    assert "readinessProbe" not in the_pod(render())["spec"]["containers"][0]
    with in_both(api_server, render, *READY) as pods:
        first, second = (pod["spec"]["containers"][0] for pod in pods)
        assert first["readinessProbe"] == second["readinessProbe"]
        assert first["readinessProbe"]["httpGet"] == {"path": "/readyz/member", "port": 29308, "scheme": "HTTP"}
        assert first["readinessProbe"]["failureThreshold"] == 8


def test_a_switch_alone_does_not_make_the_sidecar_a_gateway(render):
    made = the_pod(render("rebalance-agent.sidecar.seatsSwitchConfigMap=seats-switch"))
    assert "SWITCH" not in json.dumps(made)
    assert "volumeMounts" not in sidecar(made)


def test_it_listens_on_ipv6_if_configured(render):
    (reported,) = [
        each for each in sidecar(the_pod(render("rebalance-agent.listenHost=[::]")))["env"] if "LISTEN" in each["name"]
    ]
    assert reported == {"name": "REBALANCE_AGENT_LISTEN", "value": "[::]:29308"}


def test_behind_its_gateway_the_consumer_is_not_reported_twice(render):
    made = the_pod(render("rebalance-agent.sidecar.settings.gateway_groups=orders=weighted-sticky"))
    assert made["spec"]["containers"][0]["env"][-1] == {**ADDRESS, "value": ""}
