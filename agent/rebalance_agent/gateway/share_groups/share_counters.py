"""Counts the records that consumers of share groups acquire and acknowledge. Scrapes may use another thread."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.groupprotocol.requests.share_requests import AcknowledgeType
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.instruments import Instruments
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import FOLDED
from rebalance_agent.metrics.member_client_rows import (
    ACKNOWLEDGE_TYPES,
    DELIVERIES,
    SHARE_ACKNOWLEDGED,
    SHARE_ACQUIRED,
    SHARE_ROWS,
    delivery_label,
)

__all__ = ["SHARE_GROUPS_MAX", "ShareCounters"]

SHARE_GROUPS_MAX = 50
"""Maximum number of groups with series of their own, each with eleven: a pod has one or two share groups. Further
groups share the label value ``_folded``."""

_ACQUIRED = ("acquired", "redelivered")
_SUMMED = {
    AcknowledgeType.ACCEPT: "accepted",
    AcknowledgeType.RELEASE: "released",
    AcknowledgeType.REJECT: "rejected",
    AcknowledgeType.RENEW: "renewed",
}


class ShareCounters:
    """The metrics ``kafka_rebalance_share_*`` of one gateway; every series starts at 0.

    ``sums``: group with series -> field of `ShareDeliveries` -> number of records. Only the counting thread reads it.
    """

    def __init__(self, text: TextFormat | None = None) -> None:
        """Start without groups."""
        self._instruments = Instruments(SHARE_ROWS, text, zero_first=True)
        self._acquired = self._instruments.counter(SHARE_ACQUIRED)
        self._acknowledged = self._instruments.counter(SHARE_ACKNOWLEDGED)
        self.sums: dict[str, dict[str, int]] = {}

    def acquired(self, group: str, numbers: Mapping[int, int]) -> None:
        """Count acquired records; ``numbers``: delivery count -> number of records."""
        exported = self._exported(group)
        for delivery_count, number in numbers.items():
            self._acquired.labels(exported, delivery_label(delivery_count)).inc(number)
            self._add(group, "acquired", number)
            if delivery_count > 1:
                self._add(group, "redelivered", number)

    def acknowledged(self, group: str, numbers: Mapping[AcknowledgeType, int]) -> None:
        """Count acknowledged records by type."""
        exported = self._exported(group)
        for kind, number in numbers.items():
            self._acknowledged.labels(exported, kind.name.lower()).inc(number)
            if name := _SUMMED.get(kind):
                self._add(group, name, number)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return metric families with their headers; empty without share groups."""
        return self._instruments.text(dialect)

    def _exported(self, group: str) -> str:
        if group in self.sums:
            return group
        exported = group if len(self.sums) < SHARE_GROUPS_MAX else FOLDED
        if exported not in self.sums:
            for delivery in DELIVERIES:
                self._acquired.labels(exported, delivery)
            for kind in ACKNOWLEDGE_TYPES:
                self._acknowledged.labels(exported, kind)
            if exported != FOLDED:
                self.sums[exported] = dict.fromkeys((*_ACQUIRED, *_SUMMED.values()), 0)
        return exported

    def _add(self, group: str, name: str, number: int) -> None:
        if (sums := self.sums.get(group)) is not None:
            sums[name] += number
