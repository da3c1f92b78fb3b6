"""How large a group's record may become: beyond ``max.message.bytes`` of the offsets topic a classic group is stuck."""

from __future__ import annotations

import logging

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC

__all__ = ["LIMIT_EVERY_S", "RecordSizeLimit"]

LIMIT_EVERY_S = 600.0
"""How often it is read: it changes when somebody changes it."""

SETTING = "max.message.bytes"

_log = logging.getLogger(__name__)


class RecordSizeLimit:
    """Call it now and then: it tells the meters the limit. Without DescribeConfigs on the topic nothing is told."""

    def __init__(self, context: CollectorContext) -> None:
        """Ask the context's cluster."""
        self._context = context

    def __call__(self) -> None:
        """Ask; never raises."""
        try:
            text = self._context.cluster.topic_setting(OFFSETS_TOPIC, SETTING)
            if text is not None:
                self._context.meters.offsets_limit(int(text))
        except (ClusterError, ValueError) as error:
            _log.debug("%s is not known: %s", SETTING, error)
