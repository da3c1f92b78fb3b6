"""Queries of the Agent board."""

from __future__ import annotations

from dashboards.parts.query import ROLE, Query, bars_of, rate_of

__all__ = ["TARGET", "counted", "highest", "in_all", "rate"]

TARGET = 'job=~"$job", instance=~"$instance"'
"""Prometheus' own ``up`` has no label ``cluster``."""


def highest(metric: str, *by: str) -> str:
    """Return a gauge by agent."""
    return f"max by ({', '.join((*by, 'instance'))}) ({metric}{{{ROLE}}})"


def in_all(metric: str) -> str:
    """Return the increase in the time range, summed over agents."""
    return f"round(sum(increase({metric}{{{ROLE}}}[$__range])))"


def counted(metric: str, legend: str, *by: str) -> Query:
    """Return the increase since the previous point, summed over agents; with labels, only series above 0."""
    asked = bars_of(metric, ROLE, *(by or ("cluster",)), across="sum")
    return Query(f"{asked} > 0" if by else asked, legend)


def rate(metric: str, legend: str, *by: str) -> Query:
    """Return the counter's rate per second, summed over agents."""
    return Query(rate_of(metric, ROLE, *(by or ("cluster",))), legend)
