"""Reads ``max.message.bytes`` of the offsets topic: a classic group whose record would be larger cannot rebalance."""

from __future__ import annotations

import logging

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC

__all__ = ["LIMIT_EVERY_S", "RecordSizeLimit"]

LIMIT_EVERY_S = 600.0
"""Seconds between reads: the setting rarely changes."""

SETTING = "max.message.bytes"
"""The topic's setting for the largest record, in bytes."""


_log = logging.getLogger(__name__)


class RecordSizeLimit:
    """Sets the limit in the meters at each call; does nothing without DescribeConfigs on the topic."""

    def __init__(self, context: CollectorContext) -> None:
        """``context`` has the cluster to query and the meters."""
        self._context = context

    def __call__(self) -> None:
        """Read the limit. Never raises."""
        try:
            text = self._context.cluster.topic_setting(OFFSETS_TOPIC, SETTING)
            if text is not None:
                self._context.meters.offsets_limit(int(text))
        except (ClusterError, ValueError) as error:
            _log.debug("%s is unknown: %s", SETTING, error)
