"""The group's lag per partition, as the default loads of ``lag-aware`` strategies."""

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
    """Fetches the lag of each partition when called: records between the group's committed offset and the end.

    A partition without a committed offset lags by all its records if the group starts from the beginning, else by 0.
    """

    def __init__(self, admin_thread: AdminThread, group: str, *, from_start: bool) -> None:
        """Fetch lags of ``group``. ``from_start``: the consumer's ``auto_offset_reset`` is ``earliest``."""
        self._admin_thread = admin_thread
        self._group = group
        self._from_start = from_start
        self._failing = False

    def __call__(self, topics: Mapping[str, int]) -> Mapping[str, list[float]]:
        """Topic -> lag of each partition in records; empty, logged once, while the cluster does not answer."""
        try:
            lags = self._admin_thread.ask(lambda admin: self._lags(admin, topics))
        except ClusterError as error:
            if not self._failing:
                _logger.warning("group %s: no lags are known, so all partitions count equally: %s", self._group, error)
            self._failing = True
            return {}
        self._failing = False
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
