"""Finds the durations of one consumer's callbacks in the metrics that its client pushes (KIP-714).

A client pushes the maximum duration of its recent callbacks, which may belong to several rebalances. If the maximum
rises from one push to the next, a callback between the two pushes took that long. If only one callback can have run in
this time, its duration is the maximum. The maxima of a client's first push may be from any time before, unless the
client has had only one rebalance since it started.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.pushing_member import CallbackMaxima
from rebalance_agent.model.events import Callback, MemberEvent

__all__ = ["RUNS_MAX", "CallbackTimes"]

RUNS_MAX = 8
"""Maximum number of callbacks kept of each kind; beyond it, the two oldest are merged into one without an
event."""

ROUNDING_SECONDS = 0.001
"""Clients and events measure whole milliseconds, so each duration may be off by less than one millisecond."""


@dataclass(eq=False, slots=True)
class _Run:
    """A callback that ran between ``since`` and ``until`` (monotonic seconds), or that did not run at all.

    ``event_id``: the id of the callback's member event; empty if it has none. ``event``: that event, once published.
    """

    since: float
    until: float = math.inf
    event_id: str = ""
    event: MemberEvent | None = None


@dataclass(frozen=True, slots=True)
class _Rise:
    """A maximum of ``seconds`` that a callback reached after ``since`` and before ``until`` (monotonic seconds).

    ``only_rebalance``: the client's first push had this maximum, and the client had had only one rebalance by then.
    """

    seconds: float
    since: float
    until: float
    only_rebalance: bool = False


class CallbackTimes:
    """The callbacks of one consumer, and the maxima that the consumer's client pushes.

    ``emit`` publishes the event of a callback again, with the callback's duration and a higher revision.
    """

    def __init__(self, clock: Clock, emit: Callable[[MemberEvent], None]) -> None:
        """Start without callbacks and pushes."""
        self._clock, self._emit = clock, emit
        self._runs: dict[Callback, list[_Run]] = {Callback.REVOKED: [], Callback.ASSIGNED: []}
        self._rises: dict[Callback, _Rise] = {}
        self._maxima: Mapping[Callback, float] = {}
        self._instance_id = ""
        self._pushes = -math.inf, -math.inf
        """Times of the last push and of the push before it."""

    def revoked(self, event: MemberEvent | None, seconds: float = math.inf) -> None:
        """Record that a revoked callback may have run in the last ``seconds``, and that no callback is running now."""
        now = self._clock.monotonic()
        self._add(Callback.REVOKED, _Run(now - seconds, now, event.event_id if event else "", event))
        self._end_assigned(now)

    def assigning(self, event: MemberEvent | None, seconds: float = 0.0) -> None:
        """Record that the client got an assignment ``seconds`` ago: its assigned callback began at that time or later.

        ``event``: the event about the assignment, not yet published; None if there is none.
        """
        self._add(Callback.ASSIGNED, _Run(self._clock.monotonic() - seconds, event_id=event.event_id if event else ""))

    def assigned(self, event: MemberEvent) -> None:
        """Record that an assignment's ``event`` is published. If the event has an end, the callback has returned."""
        for run in self._runs[Callback.ASSIGNED]:
            if run.event_id == event.event_id:
                run.event = event
        if event.timestamp_ms > event.started_ms:
            self._end_assigned(self._clock.monotonic())

    def pushed(self, instance_id: str, maxima: CallbackMaxima) -> None:
        """Process a push of the client's instance: the longest duration of each kind of callback.

        Kinds without a measured callback are absent. A client computes each push after it got the response to its
        previous push.
        """
        now = self._clock.monotonic()
        rises, self._rises = self._rises, {}
        if instance_id == self._instance_id:
            for callback, rise in rises.items():
                if not rise.only_rebalance or maxima.rebalances == 1:
                    self._attribute(callback, rise)
            for callback in self._runs:
                seconds = maxima.seconds.get(callback, -math.inf)
                if seconds > self._maxima.get(callback, -math.inf):
                    self._rises[callback] = _Rise(seconds, self._pushes[1], now)
            self._pushes = now, self._pushes[0]
        else:
            self._instance_id, self._pushes = instance_id, (now, -math.inf)
            if maxima.rebalances == 1 and Callback.ASSIGNED in maxima.seconds:
                rise = _Rise(maxima.seconds[Callback.ASSIGNED], -math.inf, now, only_rebalance=True)
                self._rises = {Callback.ASSIGNED: rise}
        self._maxima = maxima.seconds

    def _attribute(self, callback: Callback, rise: _Rise) -> None:
        """Publish the duration of the only callback that can have caused this rise.

        This is done one push later, since the frame after a revoked callback may arrive after the push with its
        duration.
        """
        possible = [run for run in self._runs[callback] if run.since < rise.until and run.until > rise.since]
        if len(possible) != 1:
            return
        (run,) = possible
        event, longest = run.event, min(run.until, rise.until) - run.since
        if event is None or event.callback_seconds is not None or rise.seconds > longest + ROUNDING_SECONDS:
            return
        run.event = replace(event, callback_seconds=rise.seconds, revision=event.revision + 1)
        self._emit(run.event)

    def _add(self, callback: Callback, run: _Run) -> None:
        runs = self._runs[callback]
        runs.append(run)
        if len(runs) > RUNS_MAX:
            first, second = runs[:2]
            runs[:2] = [_Run(min(first.since, second.since), max(first.until, second.until))]

    def _end_assigned(self, now: float) -> None:
        for run in self._runs[Callback.ASSIGNED]:
            run.until = min(run.until, now)
