"""Decides which clients are asked for telemetry, and for which metrics."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.telemetry.client_values import JAVA_NAMES
from rebalance_agent.gateway.telemetry.pushed_bytes import GZIP, PUSH_BYTES_MAX
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["PREFIXES_MAX", "PREFIXES_TEXT_MAX", "Subscription", "metric_prefixes", "subscription_of"]

_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_ABORTS = "2.5.0"
"""The version of librdkafka that aborts its process if no metric matches (librdkafka issue 4833)."""

PREFIXES_MAX = 50
PREFIXES_TEXT_MAX = 5_000
"""Maximum number of prefixes in a setting, and maximum number of characters of the setting."""

_PREFIX = re.compile(r"[A-Za-z][\w.]{0,199}", re.ASCII)

_EVERY_METRIC = ("org.apache.kafka.",)
"""The common prefix of consumers' and producers' metrics. librdkafka has few metrics, and versions 2.5 to 2.10
reconnect endlessly if no metric of the client matches (librdkafka issue 5106)."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription that a client gets. ``metrics``: prefixes of names.

    ``subscription_id``: a hash of the subscription. If the gateway restarts with the same settings, clients continue to
    push without a new subscription.
    """

    metrics: Sequence[str]
    push_interval_ms: int
    subscription_id: int


def metric_prefixes(text: str) -> tuple[str, ...]:
    """Parse prefixes of metric names, separated by commas.

    Raises:
        InvalidInputError: there are too many prefixes, or a prefix is not the beginning of a name.
    """
    prefixes = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(prefixes) > PREFIXES_MAX:
        raise InvalidInputError("", f"must have at most {PREFIXES_MAX} prefixes")
    for prefix in prefixes:
        if not _PREFIX.fullmatch(prefix):
            raise InvalidInputError("", f"must be prefixes such as org.apache.kafka.consumer., not {prefix[:50]!r}")
    return prefixes


def subscription_of(software: ClientSoftware, push_interval_ms: int, more: Sequence[str] = ()) -> Subscription | None:
    """Return the subscription for a client with this library; None if such a client would not push, or would fail.

    ``more``: prefixes of metrics to request in addition to the exported ones. librdkafka is always asked for all its
    metrics.
    """
    if software.is_java:
        return _subscription((*JAVA_NAMES, *more), push_interval_ms)
    releases = _RELEASE.findall(software.version)
    if software.is_librdkafka and releases and _ABORTS not in releases:
        return _subscription(_EVERY_METRIC, push_interval_ms)
    return None


def _subscription(metrics: Sequence[str], push_interval_ms: int) -> Subscription:
    text = repr((metrics, push_interval_ms, GZIP, PUSH_BYTES_MAX))
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    return Subscription(metrics, push_interval_ms, int.from_bytes(digest, "big", signed=True))
