"""Defines the pipeline's error, part of the tree in ``rebalance_agent.errors``; shortens Spark's errors to a line."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["PipelineError", "one_line"]


class PipelineError(RebalanceAgentError):
    """Java, Spark, a table or an input cannot be used; the message names the object and the reason."""


def one_line(error: Exception, characters_max: int = 500) -> str:
    """Return the beginning of a message, which Spark puts before its stack traces, as one line."""
    return " ".join(str(error).split())[:characters_max]
