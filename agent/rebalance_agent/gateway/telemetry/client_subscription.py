"""Which clients are asked for telemetry, and for which metrics."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kafka.protocol.metadata import ApiVersionsRequest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.telemetry.client_values import JAVA_NAMES
from rebalance_agent.gateway.telemetry.pushed_bytes import GZIP, PUSH_BYTES_MAX
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.metrics.short_names import short_name

__all__ = ["ClientSoftware", "Subscription", "read_software", "subscription_of"]

_SOFTWARE_VERSION = 3
"""The first ApiVersions version with the client's name (KIP-511)."""

_JAVA = "apache-kafka-java"
_OF_LIBRDKAFKA = re.compile(r"librdkafka|confluent-kafka-\w+")
"""Names of librdkafka and of Confluent's clients on it."""

_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_ABORTS = "2.5.0"
"""librdkafka 2.5.0 ends its process if no metric matches (its issue 4833)."""

_EVERY_METRIC = ("org.apache.kafka.",)
"""librdkafka has few metrics, and 2.5 to 2.10 reconnect for ever if none of a client matches (its issue 5106): this
prefix is that of consumers and of producers."""


@dataclass(frozen=True, slots=True)
class ClientSoftware:
    """Name and version of a client library, as it names itself (KIP-511); empty where it does not."""

    name: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client is asked for. ``metrics``: prefixes of names.

    ``subscription_id``: a hash of it; after a restart of the gateway with the same settings clients go on pushing.
    """

    metrics: Sequence[str]
    push_interval_ms: int
    subscription_id: int


def read_software(head: RequestHead, frame: bytes) -> ClientSoftware:
    """The client library in an ApiVersions request."""
    if not _SOFTWARE_VERSION <= head.api_version <= ApiVersionsRequest.max_version:
        return ClientSoftware()
    try:
        message = open_frame(ApiVersionsRequest, head, frame).message
    except DecodeError:
        return ClientSoftware()  # the broker refuses it
    return ClientSoftware(
        short_name(message.client_software_name or ""), short_name(message.client_software_version or "")
    )


def subscription_of(software: ClientSoftware, push_interval_ms: int) -> Subscription | None:
    """What such a client is asked for; None: nothing, since it would push nothing, or would fail."""
    if software.name == _JAVA:
        return _subscription(JAVA_NAMES, push_interval_ms)
    releases = _RELEASE.findall(software.version)
    if _OF_LIBRDKAFKA.fullmatch(software.name) and releases and _ABORTS not in releases:
        return _subscription(_EVERY_METRIC, push_interval_ms)
    return None


def _subscription(metrics: Sequence[str], push_interval_ms: int) -> Subscription:
    text = repr((metrics, push_interval_ms, GZIP, PUSH_BYTES_MAX))
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    return Subscription(metrics, push_interval_ms, int.from_bytes(digest, "big", signed=True))
