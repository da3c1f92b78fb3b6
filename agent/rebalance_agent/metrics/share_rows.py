"""Rows of share groups (KIP-932) whose consumers connect through a gateway: deliveries and acknowledgements."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType

__all__ = ["ACKNOWLEDGE_TYPES", "DELIVERIES", "SHARE_ACKNOWLEDGED", "SHARE_ACQUIRED", "SHARE_ROWS", "delivery_label"]

_DELIVERIES_MAX = 5
"""The highest delivery count with a value of its own: the broker's default of group.share.delivery.count.limit."""

_MORE = "more"

DELIVERIES = (*map(str, range(1, _DELIVERIES_MAX + 1)), _MORE)
"""Values of the label ``delivery``: the delivery count of the records."""

ACKNOWLEDGE_TYPES = ("accept", "gap", "reject", "release", "renew")
"""Values of the label ``type``: Kafka's acknowledge types."""


def delivery_label(delivery_count: int) -> str:
    """Return the value of the label ``delivery`` for a delivery count."""
    return str(max(1, delivery_count)) if delivery_count <= _DELIVERIES_MAX else _MORE


def _row(name: str, text: str, values: Mapping[str, tuple[str, ...]]) -> Metric:
    labels = ("consumergroup", *values)
    return Metric(
        f"kafka_rebalance_share_{name}", MetricType.COUNTER, ExporterRole.GATEWAY, text, labels, "records", values
    )


SHARE_ACQUIRED = _row(
    "acquired_records_total",
    "Records that consumers of a share group acquired through this gateway, by delivery count. 2 and higher: delivered "
    "again, after a release or because the acquisition lock expired. The broker archives a record that is not accepted "
    "at its last delivery (group.share.delivery.count.limit, 5 by default). Control records count, too.",
    {"delivery": DELIVERIES},
)
SHARE_ACKNOWLEDGED = _row(
    "acknowledged_records_total",
    "Records that consumers of a share group acknowledged through this gateway, and whose partition the broker did not "
    "refuse. accept: processed; release: to be delivered again; reject: archived; renew: the acquisition lock was "
    "renewed (KIP-1222); gap: offsets without a record.",
    {"type": ACKNOWLEDGE_TYPES},
)

SHARE_ROWS = (SHARE_ACQUIRED, SHARE_ACKNOWLEDGED)
"""In the order of /metrics and of the documentation."""
