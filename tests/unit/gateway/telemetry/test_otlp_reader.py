"""The reader of OTLP metrics finds the wanted ones in any surroundings, and refuses hostile bytes."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rebalance_agent.gateway.telemetry import otlp_reader
from rebalance_agent.gateway.telemetry.client_values import CLIENT_VALUES
from rebalance_agent.gateway.telemetry.otlp_reader import ATTRIBUTE_BYTES_MAX, PushedMetrics, read_metrics
from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from rebalance_agent.gateway.telemetry.pushed_bytes import GZIP, unpacked
from support.telemetry.otlp import attribute, field, gauge, metrics_data, resource, scope, total, varint
from support.telemetry.real_pushes import PUSHED_BY_JAVA, PUSHED_BY_LIBRDKAFKA

WANTED = ("a", "b", "c")
DATA = metrics_data(gauge("a", 1.5), gauge("z", 9), total("b", 7), group_id="orders", client_rack="r1")
UNKNOWN = (
    varint(31 << 3) + varint(2**40),
    varint(31 << 3 | 1) + bytes(8),
    varint(31 << 3 | 5) + bytes(4),
    field(31, b"\xff" * 9),
)
"""A field of each encoding, with an unknown number."""


def read(data, metrics=WANTED, attributes=("group_id",)):
    return read_metrics(data, metrics, attributes)


def refused(data):
    with pytest.raises(PushError) as refusal:
        read(data)
    return refusal.value.outcome


def test_wanted_metrics_and_attributes_are_read_and_no_others():
    assert read(DATA) == PushedMetrics({"a": 1.5, "b": 7.0}, {"group_id": "orders"})


@pytest.mark.parametrize(
    ("pushed", "latency_ms", "number"), [(PUSHED_BY_JAVA, 175.0, 12), (PUSHED_BY_LIBRDKAFKA, 184.0, 6)]
)
def test_pushes_of_real_clients_are_read(pushed, latency_ms, number):
    found = read_metrics(unpacked(pushed, GZIP), CLIENT_VALUES, ("group_id",))
    assert found.attributes == {"group_id": "g"}
    assert found.values["org.apache.kafka.consumer.coordinator.rebalance.latency.total"] == latency_ms
    assert len(found.values) == number, "Java also has callbacks and polls, and NaN for metrics without a measurement"


def test_an_empty_message_has_no_metrics():
    assert read(b"") == read(metrics_data()) == PushedMetrics()


def test_each_metric_may_have_a_resource_of_its_own_as_java_sends_it():
    data = b"".join(
        field(1, resource(group_id="g") + scope(gauge(name, value))) for name, value in (("a", 1), ("c", 2.0))
    )
    assert read(data) == PushedMetrics({"a": 1.0, "c": 2.0}, {"group_id": "g"})


def test_the_last_of_several_resources_counts():
    data = b"".join(metrics_data(gauge("a", 1.0), group_id=group) for group in ("one", "one", "other"))
    assert read(data).attributes == {"group_id": "other"}


def test_the_last_of_several_values_counts():
    assert read(metrics_data(gauge("a", 1.0, 2.0), gauge("a", 3.0))).values == {"a": 3.0}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_are_omitted(number):
    assert read(metrics_data(gauge("a", number), gauge("b", 1))).values == {"b": 1.0}


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_unknown_fields_are_skipped_in_every_message(unknown):
    point = unknown + varint(4 << 3 | 1) + struct.pack("<d", 1.5) + unknown
    metric = unknown + field(1, "a") + unknown + field(5, unknown + field(1, point) + unknown) + unknown
    named = field(1, unknown + field(1, "group_id") + unknown + field(2, unknown + field(1, "g") + unknown) + unknown)
    whole = field(1, unknown + field(1, unknown + named + unknown) + unknown + field(2, unknown + field(2, metric)))
    assert read(unknown + whole + unknown) == PushedMetrics({"a": 1.5}, {"group_id": "g"})


def test_a_metric_may_have_its_name_after_its_values():
    point = field(1, varint(4 << 3 | 1) + struct.pack("<d", 2.5))
    assert read(field(1, field(2, field(2, field(5, point) + field(1, "a"))))).values == {"a": 2.5}


def test_attributes_that_are_no_strings_are_omitted():
    number = field(1, field(1, "group_id") + field(2, varint(3 << 3) + varint(7)))
    assert read(field(1, field(1, number))).attributes == {}


def test_the_number_of_fields_is_bounded(monkeypatch):
    """Ten here: a resource and its list, a scope and its list, a metric with three fields, a point with one."""
    data = metrics_data(gauge("a", 1.0))
    monkeypatch.setattr(otlp_reader, "FIELDS_MAX", 10)
    assert read(data).values == {"a": 1.0}
    monkeypatch.setattr(otlp_reader, "FIELDS_MAX", 9)
    assert refused(data) is PushOutcome.TOO_LARGE


def test_half_a_mebibyte_of_empty_messages_is_too_large():
    assert refused(field(1, b"") * 2**17) is PushOutcome.TOO_LARGE


def test_a_long_attribute_is_too_large_and_a_name_of_kafka_is_not():
    assert len(read(metrics_data(group_id="g" * ATTRIBUTE_BYTES_MAX)).attributes["group_id"]) == ATTRIBUTE_BYTES_MAX
    assert refused(metrics_data(group_id="g" * (ATTRIBUTE_BYTES_MAX + 1))) is PushOutcome.TOO_LARGE


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 11,
        b"\x0b",
        field(1, b"")[:-1] + b"\x05",
        varint(1 << 3 | 1) + bytes(7),
        varint(1 << 3 | 2) + varint(2**62),
        field(1, field(1, attribute("group_id", b"\xff"))),
        field(1, field(2, field(2, field(1, "a") + field(5, field(1, varint(4 << 3 | 1) + bytes(7)))))),
    ],
)
def test_invalid_bytes_are_refused(data):
    assert refused(data) is PushOutcome.INVALID


@given(some.integers(0, len(DATA) - 1), some.binary(max_size=3))
def test_a_damaged_message_is_read_or_refused(at, instead):
    """Bytes are replaced, or the message is truncated."""
    for data in (DATA[:at] + instead, DATA[:at] + instead + DATA[at + len(instead) :]):
        try:
            found = read(data)
        except PushError:
            continue
        assert found.values.keys() <= set(WANTED)
        assert found.attributes.keys() <= {"group_id"}


NUMBERS = some.floats(allow_nan=False, allow_infinity=False) | some.integers(-(2**63), 2**63 - 1)


@given(some.dictionaries(some.sampled_from("abcdefgh"), NUMBERS), some.text(max_size=20))
def test_the_reader_reads_what_the_writer_writes(values, group):
    metrics = [(gauge, total)[number % 2](name, value) for number, (name, value) in enumerate(values.items())]
    found = read(metrics_data(*metrics, group_id=group))
    assert found == PushedMetrics(
        {name: float(value) for name, value in values.items() if name in WANTED}, {"group_id": group}
    )
