"""Defines the error that the demo raises, which is part of the tree in ``rebalance_agent.errors``."""

from __future__ import annotations

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["DemoError"]


class DemoError(RebalanceAgentError):
    """The demo cannot continue: one of its processes ended, or something was not ready in time."""
