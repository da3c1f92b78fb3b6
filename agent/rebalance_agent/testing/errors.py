"""Defines the errors of the embedded Kafka, which are part of the tree in ``rebalance_agent.errors``."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["BrokerError"]


class BrokerError(RebalanceAgentError):
    """A broker did not start or stop, or is not in the state that a call needs.

    The first line has the problem and the log's path. A failed start adds the last lines of the log.
    """
