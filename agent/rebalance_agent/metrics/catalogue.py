"""The catalogue: every metric that this version exports. Tests check documentation, rules and boards against it.

To add a metric of groups, add a row to ``group_rows`` with the function that reads the metric's value. To add a metric
that a process counts itself, add a row to one of the other ``*_rows`` modules, and add the code that sets the metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rebalance_agent.metrics.agent_rows import AGENT_ROWS
from rebalance_agent.metrics.baseline_rows import BASELINE_ROWS
from rebalance_agent.metrics.gateway_rows import GATEWAY_ROWS
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.lag_rows import LAG_ROWS
from rebalance_agent.metrics.member_client_rows import MEMBER_CLIENT_ROWS, SHARE_ROWS
from rebalance_agent.metrics.member_rows import MEMBER_ROWS
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.metrics.phase_rows import PHASE_ROWS

__all__ = ["BY_NAME", "CATALOGUE"]

CATALOGUE: tuple[Metric, ...] = (
    *GROUP_ROWS,
    *LAG_ROWS,
    *BASELINE_ROWS,
    *PHASE_ROWS,
    *MEMBER_ROWS,
    *MEMBER_CLIENT_ROWS,
    *SHARE_ROWS,
    *GATEWAY_ROWS,
    *AGENT_ROWS,
)
"""All rows, in the order of the documentation."""

BY_NAME: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in CATALOGUE})
"""Name of a metric on /metrics -> its row."""
