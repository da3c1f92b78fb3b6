"""Wrong values are rejected before installation, with a message that names the value."""

import re

import pytest
from helm.definitions import OF_THE_CHART

from rebalance_agent.cluster.tokens.login_options import CONFIG, OPTIONS
from rebalance_agent.runtime.settings.kafka_config import SECRET_PROPERTIES
from rebalance_agent.runtime.settings.roles import ObserverSettings
from support.helm.chart import HelmError, template

WRONG = {
    "an unknown key": ({"obsever": {}}, "'obsever'"),
    "an unknown key deep inside": ({"kafka": {"tls": {"caSecret": "x"}}}, "/kafka/tls.*'caSecret'"),
    "a number as text": ({"observer": {"replicas": "2"}}, "/observer/replicas.*got string, want integer"),
    "a number where text belongs": ({"image": {"tag": 1.0}}, "/image/tag.*got number, want string"),
    "a text where an object belongs": (
        {"observer": {"tolerations": ["dedicated"]}},
        "/observer/tolerations/0.*got string, want object",
    ),
    "no replica": ({"observer": {"replicas": 0}}, "/observer/replicas.*minimum"),
    **{
        f"an address that is none: {address}": (
            {"kafka": {"bootstrapServers": f"kafka:9092,{address}"}},
            "/kafka/bootstrapServers.*pattern",
        )
        for address in ("kafka:port", "http://kafka:9092", "a:99999")
    },
    "a port that is none": ({"observer": {"service": {"port": 70000}}}, "/observer/service/port.*maximum"),
    "a digest that is none": ({"image": {"digest": "latest"}}, "/image/digest.*pattern"),
    "a mechanism that nobody has": (
        {"kafka": {"sasl": {"mechanism": "SCRAM"}}},
        "/kafka/sasl/mechanism.*SCRAM-SHA-512.*OAUTHBEARER",
    ),
    "a kind that is none": ({"pipeline": {"kind": "Job"}}, "/pipeline/kind.*CronJob.*SparkApplication"),
    "a stage that is none": ({"pipeline": {"stages": [{"name": "run"}]}}, "/pipeline/stages/0/name.*ingest"),
    "no stage": ({"pipeline": {"stages": []}}, "/pipeline/stages.*minItems"),
    "an unknown setting": ({"observer": {"settings": {"group_deny": "x"}}}, "/observer/settings.*'group_deny'"),
    "a setting out of its bounds": (
        {"observer": {"settings": {"list_interval_ms": 1}}},
        "/observer/settings/list_interval_ms.*minimum",
    ),
    "a setting of another kind": (
        {"observer": {"settings": {"log_level": "loud"}}},
        "/observer/settings/log_level.*debug.*error",
    ),
    "an unknown alert": (
        {"monitoring": {"prometheusRule": {"alerts": {"KafkaGroupSlow": {}}}}},
        "/monitoring/prometheusRule/alerts.*'KafkaGroupSlow'",
    ),
    "an unknown alert to leave out": (
        {"monitoring": {"prometheusRule": {"disabled": ["KafkaGroupSlow"]}}},
        "/monitoring/prometheusRule/disabled/0.*KafkaGroupRebalanceSlow",
    ),
    "an unknown value of an alert": (
        {"monitoring": {"prometheusRule": {"alerts": {"KafkaGroupRebalanceSlow": {"window": "1h"}}}}},
        "/alerts/KafkaGroupRebalanceSlow.*'window'",
    ),
    "a duration that is none": (
        {"monitoring": {"prometheusRule": {"alerts": {"KafkaGroupRebalanceSlow": {"for": "1 minute"}}}}},
        "/alerts/KafkaGroupRebalanceSlow/for.*pattern",
    ),
    "a severity that is none": (
        {"monitoring": {"prometheusRule": {"alerts": {"KafkaGroupRebalanceSlow": {"severity": "page"}}}}},
        "/alerts/KafkaGroupRebalanceSlow/severity.*critical.*warning.*info",
    ),
    "an objective that is none": (
        {"monitoring": {"prometheusRule": {"shared": {"slo": 99.5}}}},
        "/prometheusRule/shared/slo.*",
    ),
}


@pytest.mark.parametrize(("values", "message"), WRONG.values(), ids=WRONG)
def test_wrong_values_are_named(values, message):
    with pytest.raises(HelmError, match=rf"(?s)don't meet the specifications of the schema.*{message}"):
        template(values)


@pytest.mark.parametrize(
    "name", sorted(name for name in ObserverSettings.model_fields if name.startswith(OF_THE_CHART))
)
def test_a_setting_that_the_chart_sets_itself_is_refused_in_observer_settings(name):
    with pytest.raises(HelmError, match=f"'{name}'"):
        template({"observer": {"settings": {name: "x"}}})


@pytest.mark.parametrize("name", [*sorted(SECRET_PROPERTIES), "sasl.oauthbearer.config"])
def test_a_secret_in_a_readable_value_is_refused(name):
    with pytest.raises(HelmError, match=rf"kafka\.properties: {re.escape(name)} would be readable in a ConfigMap"):
        template({"kafka": {"properties": {name: "x"}}})


@pytest.mark.parametrize("option", sorted(frozenset().union(*OPTIONS.values())))
def test_options_of_logins_without_a_secret_are_accepted(option):
    assert template({"kafka": {"properties": {CONFIG: f"{option}=x, {option}=y"}}})


def test_an_older_kubernetes_is_refused():
    with pytest.raises(HelmError, match=r"kubeVersion: >=1\.29\.0-0 which is incompatible with Kubernetes v1\.28\.0"):
        template({}, "--kube-version", "1.28.0")
