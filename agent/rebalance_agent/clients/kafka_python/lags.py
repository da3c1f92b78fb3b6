"""The group's lag, partition by partition, as the loads of ``lag-aware`` strategies."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kafka import TopicPartition
from kafka.admin import OffsetSpec

from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.errors import ClusterError

__all__ = ["Lags"]

_logger = logging.getLogger(__name__)


class Lags:
    """Records between the group's committed offset and the end of each partition, asked of the cluster when called.

    A partition without a committed offset lags by all that it holds if the group starts there, else by nothing.
    """

    def __init__(self, aside: AdminThread, group: str, *, from_start: bool) -> None:
        """Ask for ``group`` by ``aside``. ``from_start``: the consumer's ``auto_offset_reset`` is ``earliest``."""
        self._aside = aside
        self._group = group
        self._from_start = from_start
        self._trouble = False

    def __call__(self, topics: Mapping[str, int]) -> Mapping[str, list[float]]:
        """Topic -> lag of each partition; nothing, and one line in the log, as long as the cluster does not say."""
        try:
            lags = self._aside.ask(lambda admin: self._lags(admin, topics))
        except ClusterError as error:
            if not self._trouble:
                _logger.warning("group %s: no lags, partitions count alike: %s", self._group, error)
            self._trouble = True
            return {}
        self._trouble = False
        return lags

    def _lags(self, admin: Any, topics: Mapping[str, int]) -> dict[str, list[float]]:  # noqa: ANN401 - untyped
        partitions = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
        committed = admin.list_group_offsets({self._group: partitions})[self._group]
        ends = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        starts = {partition: committed[partition].offset for partition in partitions if partition in committed}
        unread = [partition for partition in partitions if starts.get(partition, -1) < 0]
        begin = admin.list_partition_offsets(dict.fromkeys(unread, OffsetSpec.EARLIEST)) if self._from_start else ends
        starts.update({partition: begin[partition].offset for partition in unread})
        return {
            topic: [
                float(max(0, ends[partition].offset - starts[partition]))
                for partition in (TopicPartition(topic, number) for number in range(count))
            ]
            for topic, count in topics.items()
        }
