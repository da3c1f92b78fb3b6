"""Describes how a group's topics are spread over hosts. Pure."""

from __future__ import annotations

from rebalance_agent.api.shapes import HostSpreadSummary
from rebalance_agent.ui.words import plural

__all__ = ["one_host_text"]


def one_host_text(spread: HostSpreadSummary) -> str:
    """Return the number of topics on one host: ``60 of 80 topics have all their partitions on one of 4 hosts``."""
    topics = f"{spread.on_one_host:,} of {plural(spread.topics, 'topic')}"
    return f"{topics} have all their partitions on one of {spread.hosts} hosts"
