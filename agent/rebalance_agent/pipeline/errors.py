"""Defines the pipeline's error, a subclass of an error in ``rebalance_agent.errors``, and shortens Spark's errors."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["PipelineError", "one_line"]


class PipelineError(RebalanceAgentError):
    """Java, Spark, a table or an input cannot be used; the message names the object and the reason."""


def one_line(error: Exception, characters_max: int = 500) -> str:
    """Return the beginning of a message as one line; in Spark's errors, stack traces follow the beginning."""
    return " ".join(str(error).split())[:characters_max]
