"""Attributes that are added to pushed metrics, read with OpenTelemetry's own messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from rebalance_agent.gateway.telemetry.labelled_metrics import LABELLED_BYTES_MAX, labelled_metrics
from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from support.otlp.collector import attributes_of
from support.telemetry.otlp import gauge, metrics_data

EMPTY_RESOURCE = b"\x0a\x00"
PUSHED = metrics_data(gauge("a", 1.5), gauge("b", 2), group_id="orders")


def test_each_resource_has_its_own_attributes_and_the_added_ones():
    request = ExportMetricsServiceRequest.FromString(labelled_metrics(PUSHED * 2, {"client_id": "app"}))
    assert [attributes_of(each.resource) for each in request.resource_metrics] == [
        {"group_id": "orders", "client_id": "app"}
    ] * 2


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=300), max_size=5))
def test_the_metrics_stay_as_they_were(attributes):
    before = ExportMetricsServiceRequest.FromString(PUSHED)
    after = ExportMetricsServiceRequest.FromString(labelled_metrics(PUSHED, attributes))
    assert attributes_of(after.resource_metrics[0].resource) == {"group_id": "orders"} | attributes
    after.resource_metrics[0].resource.CopyFrom(before.resource_metrics[0].resource)
    assert after == before


def test_the_bytes_of_added_attributes_are_bounded():
    label = {"client_id": "c" * 281}
    added = len(labelled_metrics(EMPTY_RESOURCE, label))
    most = LABELLED_BYTES_MAX // added
    assert len(labelled_metrics(EMPTY_RESOURCE * most, label)) == most * added
    with pytest.raises(PushError) as refusal:
        labelled_metrics(EMPTY_RESOURCE * (most + 1), label)
    assert refusal.value.outcome is PushOutcome.TOO_LARGE


def test_damaged_bytes_are_refused():
    with pytest.raises(PushError):
        labelled_metrics(PUSHED[:-1], {"client_id": "app"})
