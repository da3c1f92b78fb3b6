"""Instrumentation with a fixed clock, whose events are kept in a list."""

from __future__ import annotations

from rebalance_agent.clock import FakeClock
from rebalance_agent.instrumentation import Instrumentation, Membership

JOINED = Membership(7, "member-7", "instance", "cluster")


class Recorder:
    """Replaces a Reporter and keeps the events."""

    def __init__(self) -> None:
        self.events = []

    def emit(self, build) -> None:
        self.events.append(build("process", len(self.events) + 1))


class RecordedInstrumentation:
    """An `Instrumentation` with access to its events and its clock."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.clock = FakeClock(now_ms=1_000_000)
        self.now = JOINED
        self.hooks = Instrumentation(
            group="group", client_id="client", membership=lambda: self.now, clock=self.clock, reporter=self.recorder
        )

    @property
    def events(self):
        return self.recorder.events
