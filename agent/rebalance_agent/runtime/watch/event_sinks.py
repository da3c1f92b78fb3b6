"""Interfaces that the core calls: `EventSink` gets the tracker's events, `ObservationListener` the tracker's inputs.

The core's thread calls both in order: for each observation, its events go to every sink; then the observation goes to
every listener.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.tracking.observations import MemberReported, Observation

__all__ = ["EventSink", "GenerationsBefore", "GenerationsBeforeSink", "ObservationListener", "ReportedEvents"]


class EventSink(Protocol):
    """Receives every event of the tracker: for example the log, the metrics, the publishers, the history."""

    def on_event(self, event: Event) -> None:
        """Process an event. Must not block."""
        ...


class ObservationListener(Protocol):
    """Receives every observation after the tracker has processed it and the sinks have received its events."""

    def on_observation(self, observation: Observation) -> None:
        """Process an observation. Must not block."""
        ...


class GenerationsBeforeSink(Protocol):
    """Receives the generations that were current when the first rebalances after the start began: the history."""

    def on_generation_before(self, event: GenerationEvent) -> None:
        """Process the generation before a rebalance whose event was already received. Must not block."""
        ...


class GenerationsBefore:
    """Passes the generations in `Tracker.generations_before` to ``sink``, after the events of the next rebalances."""

    def __init__(self, waiting: deque[GenerationEvent], sink: GenerationsBeforeSink) -> None:
        """``waiting`` is emptied after each observation."""
        self._waiting = waiting
        self._sink = sink

    def on_observation(self, _observation: Observation) -> None:
        """Pass on the generations that the observation added."""
        while self._waiting:
            self._sink.on_generation_before(self._waiting.popleft())


class ReportedEvents:
    """Passes events reported by members to ``sink``, because the tracker reads these events but does not emit them."""

    def __init__(self, sink: EventSink) -> None:
        """``sink`` gets each reported event after the tracker."""
        self._sink = sink

    def on_observation(self, observation: Observation) -> None:
        """Pass on the event that a member reported."""
        if isinstance(observation, MemberReported):
            self._sink.on_event(observation.event)
