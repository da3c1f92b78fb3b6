"""Errors of the embedded Kafka. Part of the tree drawn in ``rebalance_agent.errors``."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["BrokerError"]


class BrokerError(RebalanceAgentError):
    """A broker did not start, did not stop, or is not in the state that a call needs.

    The first line says what happened and where the log is; a start-up failure adds the last lines of that log.
    """
