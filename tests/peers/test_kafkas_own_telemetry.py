"""Telemetry as Kafka's own classes write and read it: OTLP by the classes of its clients, and both requests."""

from __future__ import annotations

import functools
import json
import struct

import jpype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.gateway.telemetry.otlp_reader import PushedMetrics, read_metrics
from rebalance_agent.groupprotocol.requests.client_telemetry import (
    decode_get_subscriptions,
    decode_push,
    encode_push_answer,
    encode_subscriptions_answer,
)
from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID
from support.examples import examples
from support.kafka.kafkas_java import java_buffer, start_java
from support.telemetry.requests import get_request, push_request

pytestmark = pytest.mark.integration

SLOW = settings(max_examples=examples())
OTLP = "org.apache.kafka.shaded.io.opentelemetry.proto"
ANSWER_HEAD = struct.pack(">ib", 7, 0)
INSTANCE = "AAECAwQFBgcICQoLDA0ODw"

NAMES = st.sampled_from(["a", "b", "c", "wanted.not"])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1)
METRICS = st.lists(st.tuples(NAMES, st.booleans(), st.lists(NUMBERS, min_size=1, max_size=3)), max_size=6)


@functools.cache
def java(name):
    start_java()
    return jpype.JClass(name)


def point(number):
    made = java(f"{OTLP}.metrics.v1.NumberDataPoint").newBuilder().setTimeUnixNano(1)
    return (made.setAsInt(number) if isinstance(number, int) else made.setAsDouble(number)).build()


def metric(name, is_sum, numbers):
    kind = java(f"{OTLP}.metrics.v1.{'Sum' if is_sum else 'Gauge'}").newBuilder()
    for number in numbers:
        kind.addDataPoints(point(number))
    made = java(f"{OTLP}.metrics.v1.Metric").newBuilder().setName(name).setUnit("ms").setDescription("any")
    return (made.setSum(kind) if is_sum else made.setGauge(kind)).build()


def metrics_data(metrics, attributes):
    """Each metric has its own resource, as in pushes of Java's clients."""
    whole = java(f"{OTLP}.metrics.v1.MetricsData").newBuilder()
    resource = java(f"{OTLP}.resource.v1.Resource").newBuilder()
    for name, value in attributes.items():
        text = java(f"{OTLP}.common.v1.AnyValue").newBuilder().setStringValue(value)
        resource.addAttributes(java(f"{OTLP}.common.v1.KeyValue").newBuilder().setKey(name).setValue(text))
    for each in metrics:
        scope = java(f"{OTLP}.metrics.v1.ScopeMetrics").newBuilder().addMetrics(metric(*each))
        whole.addResourceMetrics(
            java(f"{OTLP}.metrics.v1.ResourceMetrics").newBuilder().setResource(resource).addScopeMetrics(scope)
        )
    return bytes(whole.build().toByteArray())


@SLOW
@given(METRICS, st.dictionaries(st.sampled_from(["group_id", "client_rack"]), st.text(st.characters(codec="utf-8"))))
def test_metrics_written_by_kafkas_classes_are_read(metrics, attributes):
    found = read_metrics(metrics_data(metrics, attributes), "abc", ("group_id",))
    assert found == PushedMetrics(
        {name: float(numbers[-1]) for name, _, numbers in metrics if name in set("abc")},
        {name: value for name, value in attributes.items() if metrics and name == "group_id"},
    )


def kafkas_json(name, body):
    """A message's fields, as Kafka's classes read its bytes after the header."""
    accessor = java("org.apache.kafka.common.protocol.ByteBufferAccessor")(java_buffer(body))
    message = java(f"org.apache.kafka.common.message.{name}")(accessor, 0)
    converter = java(f"org.apache.kafka.common.message.{name}JsonConverter")
    return json.loads(str(converter.write(message, 0).toString()))


def test_kafkas_classes_read_both_responses():
    fields = {
        "error_code": 0,
        "client_instance_id": INSTANCE,
        "subscription_id": -5,
        "accepted_compression_types": (1,),
        "push_interval_ms": 15_000,
        "telemetry_max_bytes": 65_536,
        "delta_temporality": False,
        "requested_metrics": ("org.apache.kafka.", "a"),
    }
    answer = encode_subscriptions_answer(7, fields)
    assert answer[:5] == ANSWER_HEAD
    assert kafkas_json("GetTelemetrySubscriptionsResponseData", answer[5:]) == {
        "throttleTimeMs": 0,
        "errorCode": 0,
        "clientInstanceId": INSTANCE,
        "subscriptionId": -5,
        "acceptedCompressionTypes": [1],
        "pushIntervalMs": 15_000,
        "telemetryMaxBytes": 65_536,
        "deltaTemporality": False,
        "requestedMetrics": ["org.apache.kafka.", "a"],
    }
    pushed = encode_push_answer(7, 118)
    assert pushed[:5] == ANSWER_HEAD
    assert kafkas_json("PushTelemetryResponseData", pushed[5:]) == {"throttleTimeMs": 0, "errorCode": 118}


def test_kafkas_classes_read_the_requests_like_this_package():
    head = len(get_request()) - 17  # a UUID, and no tagged fields
    for instance_id in (ZERO_UUID, INSTANCE):
        asked = get_request(instance_id)
        assert kafkas_json("GetTelemetrySubscriptionsRequestData", asked[head:]) == {"clientInstanceId": instance_id}
        assert decode_get_subscriptions(asked) == {"client_instance_id": instance_id}
    pushed = push_request(INSTANCE, 9, b"\x01", codec=1, terminating=1)
    read = kafkas_json("PushTelemetryRequestData", pushed[head:])
    assert read == {
        "clientInstanceId": INSTANCE,
        "subscriptionId": 9,
        "terminating": True,
        "compressionType": 1,
        "metrics": "AQ==",
    }
    assert decode_push(pushed) == {
        "client_instance_id": INSTANCE,
        "subscription_id": 9,
        "terminating": 1,
        "compression_type": 1,
        "metrics": b"\x01",
    }
