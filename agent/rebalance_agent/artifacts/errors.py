"""Errors of fetching. Part of the tree drawn in ``rebalance_agent.errors``."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["ArtifactError"]


class ArtifactError(RebalanceAgentError):
    """Jars or the Java runtime cannot be had, or are not the bytes that the lock file names."""
