"""Annotations of pods and namespaces for their sidecars, and their effect."""

import json

import pytest

from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.settings_sources import load, misspelt_environment
from support.helm.injecting import (
    EVERY_ANNOTATION,
    SETTINGS,
    SIDECAR,
    annotated,
    container,
    environment,
    injecting,
    pod,
    sidecar,
)
from support.observer.observing import eventually

KAFKA = "REBALANCE_AGENT_KAFKA__"
FOLDER = "/etc/rebalance-agent/kafka"

WELL_FORMED = {
    "image": ["mirror.example:5000/rebalance-agent:1", "rebalance-agent@sha256:" + "0" * 64],
    "image-pull-policy": ["Always"],
    "image-pull-secret": ["pull"],
    "bootstrap-servers": ["a:1", "a.b-c:9092,10.0.0.1:9092, [::1]:9092"],
    "security-protocol": ["PLAINTEXT", "SASL_SSL"],
    "sasl-mechanism": ["PLAIN", "SCRAM-SHA-512"],
    "sasl-username": ["orders", "CN=orders,OU=shop"],
    "kafka-user-secret": ["orders"],
    "kafka-ca-secret": ["kafka-cluster-ca-cert"],
    "events-topic": ["rebalance-events.v1"],
    "gateway-groups": ["orders.*=weighted-sticky,assignment.consumer.weight=300; a=cooperative-sticky"],
    "member-readiness": ["true"],
    "cluster-name": ["eu-1"],
    "log-level": ["debug"],
    "workload": ["orders"],
    "cpu-request": ["0", "5m", "0.5"],
    "cpu-limit": ["1", "250m"],
    "memory-request": ["1Mi", "100Mi"],
    "memory-limit": ["1Gi"],
    "run-as-user": ["1000", "1000680000", "13370"],
    "env-from-config-map": ["settings"],
    "env-from-secret": ["settings"],
}


@pytest.fixture(scope="module")
def release(api_server):
    values = ("sidecar.settings.log_level=warning", "sidecar.settings.stop_seconds=7")
    with injecting(api_server, EVERY_ANNOTATION, *values) as release:
        yield release


def variables(release, namespace, **settings):
    return environment(sidecar(release.admitted(namespace, annotated(**settings))))


def test_every_annotation_has_test_values():
    assert WELL_FORMED.keys() == SETTINGS.keys()


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in WELL_FORMED for value in WELL_FORMED[name]])
def test_a_well_formed_annotation_is_used_without_a_warning(release, namespace, plain, name, value):
    # A user name has no effect without a mechanism.
    settings = {"sasl-mechanism": "PLAIN", name: value} if name == "sasl-username" else {name: value}
    manifest = annotated(**settings)
    found = json.dumps(release.admitted(namespace, manifest)["spec"])
    assert found != json.dumps(plain)
    assert value in found or name in ("run-as-user", "cpu-request", "cpu-limit")  # these are numbers in the pod
    assert release.warnings(namespace, manifest) == []


PROBE = {"path": "/readyz/member", "port": 29308, "scheme": "HTTP"}
OWN_PROBE = {"exec": {"command": ["true"]}}


def probes(release, namespace, *containers, readiness="true", **annotations):
    """The readiness probes of the pod's own containers, without what the API server adds to them."""
    named = {f"{SIDECAR}/member-readiness": readiness, **annotations}
    made = release.admitted(namespace, pod(*containers, annotations=named))
    found = [each.get("readinessProbe", {}) for each in made["spec"]["containers"]]
    return [each.get("httpGet", each.get("exec")) for each in found]


def test_only_the_consumers_container_gets_the_sidecars_probe_and_only_if_it_has_none(release, namespace):
    first, second = container("consumer"), container("other")
    assert probes(release, namespace, first, second) == [PROBE, None]
    assert probes(release, namespace, first, second, readiness="false") == [None, None]
    main = {"kubectl.kubernetes.io/default-container": "other"}
    assert probes(release, namespace, first, second, **main) == [None, PROBE]
    own = container("consumer", readinessProbe=OWN_PROBE)
    assert probes(release, namespace, own, second) == [OWN_PROBE["exec"], None]


def test_settings_of_the_release_apply_to_all_pods(release, namespace):
    assert variables(release, namespace) == {
        "IMAGE": "registry.example/consumer:7",
        f"{KAFKA}BOOTSTRAP_SERVERS": "kafka:9092",
        "REBALANCE_AGENT_LISTEN": "0.0.0.0:29308",
        "REBALANCE_AGENT_LOG_LEVEL": "warning",
        "REBALANCE_AGENT_STOP_SECONDS": "7",
    }


def test_an_annotation_overrides_a_parameter(release, namespace):
    found = variables(release, namespace, log_level="debug", bootstrap_servers="other:9092", workload="orders")
    assert found["REBALANCE_AGENT_LOG_LEVEL"] == "debug"
    assert found[f"{KAFKA}BOOTSTRAP_SERVERS"] == "other:9092"
    assert found["WORKLOAD"] == "orders"


def kafka(release, namespace, **settings):
    """Properties of the Kafka client, and the mount paths of each secret's keys."""
    made = release.admitted(namespace, annotated(**settings))
    found = {
        name.removeprefix(KAFKA).lower(): value
        for name, value in environment(sidecar(made)).items()
        if name.startswith(KAFKA) and not name.endswith("SERVERS")
    }
    mounts = sidecar(made).get("volumeMounts", [])
    sources = [each for volume in made["spec"].get("volumes", ()) for each in volume["projected"]["sources"]]
    assert bool(mounts) == bool(sources)
    if mounts:
        assert mounts == [{"name": SIDECAR, "mountPath": "/etc/rebalance-agent", "readOnly": True}]
    assert all(each["secret"]["optional"] for each in sources), "a pod would wait for a secret that is missing"
    return found, {each["secret"]["name"]: [item["path"] for item in each["secret"]["items"]] for each in sources}


def test_a_user_with_a_certificate_uses_mtls(release, namespace):
    assert kafka(release, namespace, kafka_user_secret="orders", kafka_ca_secret="ca") == (
        {
            "security_protocol": "SSL",
            "ssl_ca_location": f"{FOLDER}/ca.crt",
            "ssl_certificate_location": f"{FOLDER}/user.crt",
            "ssl_key_location": f"{FOLDER}/user.key",
        },
        {"orders": ["kafka/user.crt", "kafka/user.key", "kafka/password"], "ca": ["kafka/ca.crt"]},
    )


def test_a_user_with_a_password_uses_sasl(release, namespace):
    assert kafka(release, namespace, kafka_user_secret="orders", sasl_mechanism="SCRAM-SHA-512") == (
        {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": "orders",
            "sasl_password_file": f"{FOLDER}/password",
        },
        {"orders": ["kafka/user.crt", "kafka/user.key", "kafka/password"]},
    )


def test_a_ca_secret_is_mounted_and_trusted(release, namespace):
    assert kafka(release, namespace, kafka_ca_secret="ca") == (
        {"security_protocol": "SSL", "ssl_ca_location": f"{FOLDER}/ca.crt"},
        {"ca": ["kafka/ca.crt"]},
    )


def test_a_password_is_used_without_tls_with_another_user_name(release, namespace):
    given = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "u"}
    found, _ = kafka(release, namespace, **given, kafka_user_secret="orders", kafka_ca_secret="ca")
    assert found == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "u",
        "sasl_password_file": f"{FOLDER}/password",
    }


def test_behind_a_gateway_the_consumer_is_not_reported_twice(release, namespace):
    made = release.admitted(namespace, annotated(gateway_groups="orders=weighted-sticky"))
    assert environment(sidecar(made))["REBALANCE_AGENT_GATEWAY_GROUPS"] == "orders=weighted-sticky"
    # The API omits an empty value.
    assert made["spec"]["containers"][0]["env"] == [{"name": "REBALANCE_AGENT_EVENTS_URL"}]


def test_further_settings_come_from_optional_sources(release, namespace):
    made = release.admitted(namespace, annotated(env_from_config_map="a", env_from_secret="b"))
    assert sidecar(made)["envFrom"] == [
        {"configMapRef": {"name": "a", "optional": True}},
        {"secretRef": {"name": "b", "optional": True}},
    ]


def test_a_pull_secret_is_added_once(release, namespace):
    made = pod(imagePullSecrets=[{"name": "own"}], annotations={"rebalance-agent/image-pull-secret": "pull"})
    assert release.admitted(namespace, made)["spec"]["imagePullSecrets"] == [{"name": "own"}, {"name": "pull"}]
    made["spec"]["imagePullSecrets"] = [{"name": "pull"}]
    assert release.admitted(namespace, made)["spec"]["imagePullSecrets"] == [{"name": "pull"}]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"memory_request": "300Mi"}, {"requests": {"cpu": "10m", "memory": "300Mi"}}),
        (
            {"cpu_limit": "5m", "memory_limit": "97Mi"},
            {"requests": {"cpu": "10m", "memory": "96Mi"}, "limits": {"memory": "97Mi"}},
        ),
        (
            {"cpu_request": "0.5", "cpu_limit": "500m"},
            {"requests": {"cpu": "500m", "memory": "96Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
        ),
    ],
)
def test_a_limit_below_its_request_is_omitted(release, namespace, limits, expected):
    assert sidecar(release.admitted(namespace, annotated(**limits)))["resources"] == expected


def test_annotations_of_a_namespace_apply_to_its_pods(release, api_server):
    namespace = release.namespace()

    def annotate(*annotations):
        names = [f"{SIDECAR}/{each}" for each in annotations]
        api_server.kubectl("annotate", "--overwrite", "namespace", namespace, *names)

    def found(**settings):
        return environment(sidecar(release.admitted(namespace, annotated(**settings))))

    servers, level = f"{KAFKA}BOOTSTRAP_SERVERS", "REBALANCE_AGENT_LOG_LEVEL"
    annotate("bootstrap-servers=own:9092", "log-level=error", "run-as-user=1000680000")
    eventually(lambda: found()[servers] == "own:9092", waiting_for="annotations")
    assert found(log_level="debug") == {**found(), level: "debug"}
    assert sidecar(release.admitted(namespace, pod()))["securityContext"]["runAsUser"] == 1000680000
    # Malformed values are replaced by the chart's defaults.
    annotate("log-level=loud")
    eventually(lambda: found()[level] == "warning", waiting_for="the change")


def test_properties_of_the_release_are_defaults_of_pods(api_server):
    given = (r"security\.protocol=SSL", r"ssl\.ca\.location=/etc/ssl/own.pem", r"client\.rack=a")
    properties = (f"kafka.properties.{each}" for each in given)
    with injecting(api_server, EVERY_ANNOTATION, *properties, "listenHost=[::]") as release:
        namespace = release.namespace()
        found = variables(release, namespace)
        assert found[f"{KAFKA}SECURITY_PROTOCOL"] == "SSL"
        assert found[f"{KAFKA}SSL_CA_LOCATION"] == "/etc/ssl/own.pem"
        assert found[f"{KAFKA}CLIENT_RACK"] == "a"
        assert found["REBALANCE_AGENT_LISTEN"] == "[::]:29308"
        own = variables(release, namespace, security_protocol="SASL_SSL", kafka_ca_secret="ca")
        assert own[f"{KAFKA}SECURITY_PROTOCOL"] == "SASL_SSL"
        assert own[f"{KAFKA}SSL_CA_LOCATION"] == f"{FOLDER}/ca.crt"


def test_a_platform_may_choose_the_user(api_server):
    with injecting(api_server, "securityContext.runAsUser=null", "securityContext.runAsGroup=null") as release:
        namespace = release.namespace()
        chosen = sidecar(release.admitted(namespace, pod()))["securityContext"]
        assert chosen["runAsNonRoot"]
        assert not chosen.keys() & {"runAsUser", "runAsGroup"}
        asked = sidecar(release.admitted(namespace, annotated(run_as_user="1000680000")))["securityContext"]
        assert asked["runAsUser"] == asked["runAsGroup"] == 1000680000


@pytest.mark.parametrize("number", [0, -1])
def test_the_sidecar_accepts_its_settings(release, namespace, monkeypatch, number):
    given = {name: values[number] for name, values in WELL_FORMED.items()}
    for name, value in variables(release, namespace, **given).items():
        monkeypatch.setenv(name, value)
    settings = load(GatewaySettings, None, {})
    assert settings.events_topic == given["events-topic"]
    assert settings.gateway_groups == given["gateway-groups"]
    assert settings.cluster_name == given["cluster-name"]
    assert settings.stop_seconds == 7
    assert settings.kafka["bootstrap.servers"] == given["bootstrap-servers"]
    assert misspelt_environment() == {}
