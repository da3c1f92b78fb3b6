"""Measures how far the tracker is behind the collectors; an observer whose data are too old is not ready."""

from __future__ import annotations

from rebalance_agent.cluster.collector_context import CollectorContext

__all__ = ["BEHIND_S", "TRACKER_PART", "InboxAge"]

TRACKER_PART = "tracker"
"""The part's name in readiness."""

BEHIND_S = 30.0
"""Age of the oldest unprocessed observation, in seconds, at which the observer stops being ready."""


class InboxAge:
    """Measures the age of the oldest observation at each call."""

    def __init__(self, context: CollectorContext) -> None:
        """Measure the inbox of ``context``."""
        self._context = context

    def __call__(self) -> None:
        """Set the metric and the readiness of the tracker."""
        age, health = self._context.inbox.age, self._context.health
        self._context.meters.observation_age(age)
        if age < BEHIND_S:
            health.ready(TRACKER_PART)
        else:
            health.unready(TRACKER_PART, f"input read {age:.0f} s ago has not been processed yet")
