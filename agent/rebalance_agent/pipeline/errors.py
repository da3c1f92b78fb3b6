"""The error that the pipeline raises; part of the tree drawn in ``rebalance_agent.errors``."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["PipelineError"]


class PipelineError(RebalanceAgentError):
    """Java, Spark, a table or an input cannot be used; the message says which and why."""
