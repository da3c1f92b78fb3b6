"""Every value has an effect: with all features on, a change of any value changes the rendered output."""

import json
from functools import reduce

import pytest
import yaml

from support.helm.chart import EVERYTHING, HelmError, template
from support.helm.rendered import CHART

SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))

EVERYWHERE = {
    "kafka": {
        "bootstrapServers": "kafka:9093",
        "tls": {"enabled": True, "ca": {"secretName": "ca"}, "certificate": {"secretName": "user"}},
        "sasl": {"enabled": True, "username": "observer", "password": {"secretName": "user"}},
    },
    "observer": {
        "replicas": 2,
        "web": {"tls": {"secretName": "web"}, "token": {"secretName": "token"}},
        "events": {"enabled": True, "tls": {"secretName": "events"}, "token": {"secretName": "token"}},
        "networkPolicy": {"enabled": True},
    },
    "pipeline": {"enabled": True, "networkPolicy": {"enabled": True}},
    "monitoring": {"enabled": True, "dashboards": {"enabled": False}},  # they are long and have their own test
    "injection": {"enabled": True, "apiVersion": "admissionregistration.k8s.io/v1"},
    "sidecar": {"settings": {"gateway_seats": ".*=on"}},  # without it the switch of seats has no effect
}
ON_SPARK = {"kind": "SparkApplication", "sparkApplication": {"image": "spark:1"}}
BOARDS = {"enabled": True}

OTHERS = {
    "injection.annotations": ["image"],
    "injection.parameters": {"log-level": "debug"},
    "kafka.bootstrapServers": "kafka, SSL://kafka-2:9094 ,[::1]:65535,",
    "kafka.secretProperties": {"ssl.key.password": {"secretName": "user", "key": "a"}},
    "monitoring.prometheusRule.alerts": {"KafkaGroupRebalanceSlow": {"seconds": 7}},
    "monitoring.prometheusRule.disabled": ["KafkaGroupRebalanceSlow"],
    "monitoring.prometheusRule.shared": {"slo": 0.9},
    "observer.settings": {"settle_seconds": 7},
    "pipeline.stages": [{"name": "ingest"}],
    "sidecar.resources": {"requests": {"cpu": "7m"}},
    "sidecar.seatLeases": [{"namespace": "payments"}],
    "sidecar.settings": {"stop_seconds": 7},
}
"""Valid values for fields with a special format."""

BY_TEMPLATE = {"sidecar.extraEnv", "sidecar.extraEnvFrom"}
"""Values of the named template only (`test_injection_template`)."""

OF_ANOTHER_CHART = {"enabled", "global"}


def leaves(schema, path=""):
    """Each value's schema by its path."""
    for name, each in schema["properties"].items():
        if each.get("additionalProperties") is False:
            yield from leaves(each, f"{path}{name}.")
        else:
            yield f"{path}{name}", each


def at(values, path):
    return reduce(lambda found, key: found.get(key) if isinstance(found, dict) else None, path.split("."), values)


def other(path, schema):
    """A valid value that differs from the one with all features enabled."""
    if path in OTHERS:
        return OTHERS[path]
    now = at(EVERYWHERE, path)
    now = at(DEFAULTS, path) if now is None else now
    if "enum" in schema:
        return next(each for each in schema["enum"] if each and each != now)
    match schema["type"]:
        case "array":
            items = schema.get("items", {})
            samples = {"string": "changed", "integer": 7}
            return [items["enum"][-1] if "enum" in items else samples.get(items.get("type"), {"name": "changed"})]
        case "boolean":
            return not now
        case "integer":
            return now + 1
        case "object":
            return {"changed": "yes"}
    return "sha256:" + "0" * 64 if path.endswith("digest") else "changed"


def laid_over(values, path, value):
    """A copy of ``values`` with one changed value."""
    key, _, rest = path.partition(".")
    return {**values, key: laid_over(values.get(key, {}), rest, value) if rest else value}


def rendered(values):
    try:
        return template(values, *EVERYTHING)
    except HelmError as error:
        if "don't meet the specifications" in str(error):
            raise
        return str(error)  # another feature needs it


@pytest.fixture(scope="module")
def everywhere():
    """The values of each kind of installation, with the rendered output."""
    kinds = [
        EVERYWHERE,
        laid_over(EVERYWHERE, "pipeline", {"enabled": True, **ON_SPARK}),
        laid_over(EVERYWHERE, "monitoring.dashboards", BOARDS),
    ]
    return [(values, template(values, *EVERYTHING)) for values in kinds]


def test_every_value_has_an_effect(everywhere):
    def has_none(path, value):
        return all(rendered(laid_over(values, path, value)) == before for values, before in everywhere)

    values = {path: other(path, schema) for path, schema in leaves(SCHEMA) if path not in OF_ANOTHER_CHART}
    assert len(values) > 150
    assert {path for path, value in values.items() if has_none(path, value)} == BY_TEMPLATE
