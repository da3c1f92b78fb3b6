"""Filters events for a sink: passes only events of chosen kinds and groups."""

from __future__ import annotations

import re
from collections.abc import Collection

from rebalance_agent.model.events import Event
from rebalance_agent.runtime.sinks.sinks import Sink

__all__ = ["FilteredSink"]


class FilteredSink:
    """Passes an event to ``sink`` if both its kind and its group are wanted; other events are not counted."""

    def __init__(self, sink: Sink, kinds: Collection[str], groups: str) -> None:
        """``kinds``: empty for all. ``groups``: a regular expression that must match the whole name."""
        self._sink, self._kinds = sink, frozenset(kinds)
        self._groups = re.compile(groups)
        self.start, self.close = sink.start, sink.close

    def publish(self, event: Event, cluster_id: str) -> None:
        """Publish the event if it is wanted."""
        if (not self._kinds or event.KIND in self._kinds) and self._groups.fullmatch(event.group):
            self._sink.publish(event, cluster_id)
