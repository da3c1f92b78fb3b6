"""Telemetry requests as a client sends them, and readers of the responses."""

from __future__ import annotations

from types import SimpleNamespace

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.requests import client_telemetry
from rebalance_agent.groupprotocol.requests.client_telemetry import GET_SUBSCRIPTIONS_KEY, PUSH_KEY
from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_response, request_frame
from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID
from support.gateway.frames import framed

__all__ = [
    "JAVA",
    "LIBRDKAFKA",
    "error_of",
    "get_request",
    "greeting",
    "offered",
    "push_request",
    "subscription",
    "with_apis",
]

LIBRDKAFKA = ("confluent-kafka-python", "2.16.1-librdkafka-2.16.1")
JAVA = ("apache-kafka-java", "4.3.0")


def greeting(software=LIBRDKAFKA, version=3, correlation_id=1):
    """An ApiVersions request of a client."""
    name, release = software
    named = {"client_software_name": name, "client_software_version": release} if version >= 3 else {}
    return framed(ApiVersionsRequest(version=version, **named), correlation_id)


def with_apis(request, *keys, error_code=0):
    """A broker's response to an ApiVersions request, with the API ``keys``, all in version 0."""
    head = read_head(request)
    version = 0 if error_code else head.api_version  # which every client can read (KIP-511)
    kind = ApiVersionsResponse.ApiVersion
    apis = [kind(version=version, api_key=key, min_version=0, max_version=0) for key in keys]
    answer = ApiVersionsResponse(version=version, error_code=error_code, api_keys=apis)
    return framed(answer, head.correlation_id)


def offered(request, answer):
    """The API keys in a response."""
    return [api.api_key for api in open_frame(ApiVersionsResponse, read_head(request), answer).message.api_keys]


def get_request(instance_id=ZERO_UUID, correlation_id=1):
    fields = {"client_instance_id": instance_id}
    return request_frame(GET_SUBSCRIPTIONS_KEY, 0, correlation_id, "app", client_telemetry._GET, fields)


def push_request(instance_id, subscription_id, metrics, *, codec=0, terminating=0, correlation_id=1, client_id="app"):
    fields = {
        "client_instance_id": instance_id,
        "subscription_id": subscription_id,
        "terminating": terminating,
        "compression_type": codec,
        "metrics": metrics,
    }
    return request_frame(PUSH_KEY, 0, correlation_id, client_id, client_telemetry._PUSH, fields)


def subscription(answer):
    """The fields of a response to GetTelemetrySubscriptions."""
    read = decode_whole("answer", answer, lambda reader: read_response(reader, client_telemetry._SUBSCRIPTIONS))
    return SimpleNamespace(**read)


def error_of(answer):
    """The error code of a response to PushTelemetry."""
    read = decode_whole("answer", answer, lambda reader: read_response(reader, client_telemetry._PUSHED))
    return read["error_code"]
