"""Errors of the demo. Part of the tree drawn in ``rebalance_agent.errors``."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["DemoError"]


class DemoError(RebalanceAgentError):
    """The demo cannot go on: a process of it ended, or something did not get ready in time. Ends with log lines."""
