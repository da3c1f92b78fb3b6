"""Errors of downloads. They belong to the class tree of ``rebalance_agent.errors``."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["ArtifactError"]


class ArtifactError(RebalanceAgentError):
    """Jars or the Java runtime cannot be obtained, or differ from the checksum in the lock file."""
