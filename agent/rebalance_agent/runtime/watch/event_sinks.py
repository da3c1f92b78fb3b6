"""Interfaces of the core's receivers: `EventSink` gets the tracker's events, `ObservationListener` its inputs.

Both are called in the core's thread, in order: for each observation its events go to every sink, then the observation
goes to every listener.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.tracking.observations import MemberReported, Observation

__all__ = ["EventSink", "GenerationsBefore", "GenerationsBeforeSink", "ObservationListener", "ReportedEvents"]


class EventSink(Protocol):
    """Takes every event of the tracker: the log, metrics, the publishers, the history, the snapshots' schedule."""

    def on_event(self, event: Event) -> None:
        """Process an event. Must not block."""
        ...


class ObservationListener(Protocol):
    """Takes every observation after the tracker, and after the events that it led to."""

    def on_observation(self, observation: Observation) -> None:
        """Process an observation. Must not block."""
        ...


class GenerationsBeforeSink(Protocol):
    """Takes the generations that were current when the first rebalances since the start began: the history."""

    def on_generation_before(self, event: GenerationEvent) -> None:
        """Take the generation before a rebalance that was already taken. Must not block."""
        ...


class GenerationsBefore:
    """Passes the generations of `Tracker.generations_before` to ``sink``, after the events of their rebalances."""

    def __init__(self, waiting: deque[GenerationEvent], sink: GenerationsBeforeSink) -> None:
        """``waiting`` is emptied after each observation."""
        self._waiting = waiting
        self._sink = sink

    def on_observation(self, _observation: Observation) -> None:
        """Pass on what the observation added."""
        while self._waiting:
            self._sink.on_generation_before(self._waiting.popleft())


class ReportedEvents:
    """Passes the events that members reported to ``sink``: the tracker only reads them, and publishes others."""

    def __init__(self, sink: EventSink) -> None:
        """``sink`` gets each reported event after the tracker."""
        self._sink = sink

    def on_observation(self, observation: Observation) -> None:
        """Pass on what a member reported."""
        if isinstance(observation, MemberReported):
            self._sink.on_event(observation.event)
